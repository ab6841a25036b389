import { describe, expect, it } from 'vitest';

import { checkpointDetail } from '../../../../fake/checkpoints';
import { bottleneckOf, metricsOf } from '../../../../fake/metrics';
import { Installation } from '../../../../fake/installation';
import { chainMetrics, edgeRate } from './chainMetrics';
import { parseGraph } from '../../physicalGraph';

const installation = new Installation(1_800_000_000_000);
const job = installation.jobs[0]!;
const graph = parseGraph(job.template.graph as unknown as Record<string, unknown>);
const { subtasks } = metricsOf(job, installation.nowMs, installation.nowMs - 40_000, 10);
const { body, snapshots } = job.checkpoints.find(({ body: { state } }) => state === 'COMPLETED')!;
const { chains } = checkpointDetail(body, job.template.graph, snapshots).statistics;

describe('metrics of a chain', () => {
  it('the metrics of a chain contain the highest backpressure level of its subtasks and the sums of their newest samples', () => {
    const metrics = chainMetrics(graph, subtasks, chains);
    for (const { index, parallelism } of graph.chains) {
      const own = subtasks.filter(({ chain }) => chain === index);
      const worst = Math.max(...own.map((one) => one.pressure_ms_per_s.at(-1)!)) / 1000;
      const result = metrics.get(index)!;
      expect(result.level).toBe(worst <= 0.1 ? 'ok' : worst <= 0.5 ? 'low' : 'high');
      expect(result.worst!.pressure).toBe(worst);
      expect(result.busiest!.busy).toBe(Math.max(...own.map((one) => one.busy_ms_per_s.at(-1)!)) / 1000);
      expect(result.busiest).toBe(result.subtasks[result.busiest!.index]);
      expect(result.recordsInPerS).toBeCloseTo(own.reduce((sum, one) => sum + one.records_in_per_s.at(-1)!, 0));
      expect(result.subtasks).toHaveLength(parallelism);
    }
    expect([...metrics.values()].reduce((sum, one) => sum + one.stateBytes!, 0)).toBe(body.state_bytes);
  });

  it('the metrics of a chain are null without samples', () => {
    const result = chainMetrics(graph, [], []).get(0)!;
    expect(result).toMatchObject({ level: null, worst: null, busiest: null, bottleneck: null, recordsInPerS: null, recordsOutPerS: null, stateBytes: null });
    expect(result.subtasks[0]).toMatchObject({ busy: null, backpressured: null });
  });

  it('a bottleneck belongs to the chain with the same operators, because the graph of another run can differ', () => {
    const limiting = bottleneckOf({ ...job.template, backpressure: 0.9 }, 0)!;
    const marked = (operators: string[]): number[] => [...chainMetrics(graph, subtasks, chains, { ...limiting, operators })].flatMap(([index, { bottleneck }]) => (bottleneck ? [index] : []));
    expect(marked(limiting.operators)).toEqual([limiting.chain]);
    expect(marked([...limiting.operators, 'other'])).toEqual([]);
  });

  it('metrics are matched to a chain by operators and not by chain index, because the graph of another run can differ', () => {
    const [first, ...others] = graph.chains;
    const shifted = { ...graph, chains: [{ index: 0, parallelism: 2, operators: [{ ...first!.operators[0]!, uid: 'new' }] }, { ...first!, index: 7, parallelism: 3 }, ...others] };
    const result = chainMetrics(shifted, subtasks, chains);
    expect(result.get(0)).toMatchObject({ level: null, recordsInPerS: null });
    expect(result.get(7)!.subtasks.map(({ busy }) => busy)).toEqual(chainMetrics(graph, subtasks, chains).get(0)!.subtasks.slice(0, 3).map(({ busy }) => busy));
  });

  it('state sizes come only from a checkpoint with the same operators', () => {
    const others = chains.map((one) => ({ ...one, operators: one.operators.map(({ uid, name }) => ({ uid: `${uid}2`, name })) }));
    expect(chainMetrics(graph, subtasks, others).get(0)!.stateBytes).toBeNull();
  });
});

describe('the rate of an edge', () => {
  const metrics = chainMetrics(graph, subtasks, chains);
  const edge = graph.edges[0]!;

  it('the rate of an edge is the output rate of its source chain; for a broadcast edge, this rate is multiplied by the number of target subtasks', () => {
    const rate = metrics.get(edge.source)!.recordsOutPerS!;
    expect(edgeRate(edge, metrics)).toBe(rate);
    expect(edgeRate({ ...edge, partitioning: 'broadcast' }, metrics)).toBe(rate * metrics.get(edge.target)!.subtasks.length);
  });

  it('the rate of an edge is null without samples', () => {
    expect(edgeRate(edge, new Map())).toBeNull();
  });
});
