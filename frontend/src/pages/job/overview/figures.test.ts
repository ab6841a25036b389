import { describe, expect, it } from 'vitest';

import { detailOf } from '../../../fake/checkpointing';
import { metricsOf } from '../../../fake/measuring';
import { World } from '../../../fake/world';
import { figuresOf, rateOf } from './figures';
import { graphOf } from './graph';

const world = new World(1_800_000_000_000);
const job = world.jobs[0]!;
const graph = graphOf(job.scene.graph as unknown as Record<string, unknown>);
const { subtasks } = metricsOf(job, world.nowMs, world.nowMs - 40_000, 10);
const { body, measured } = job.checkpoints.find(({ body: { state } }) => state === 'COMPLETED')!;
const { chains } = detailOf(body, job.scene.graph, measured).statistics;

describe('figures of a chain', () => {
  it('have the level of the subtask that is worst off, and sums of the newest points', () => {
    const figures = figuresOf(graph, subtasks, chains);
    for (const { index, parallelism } of graph.chains) {
      const own = subtasks.filter(({ chain }) => chain === index);
      const worst = Math.max(...own.map((one) => one.backpressured_ms_per_s.at(-1)!)) / 1000;
      const found = figures.get(index)!;
      expect(found.level).toBe(worst <= 0.1 ? 'ok' : worst <= 0.5 ? 'low' : 'high');
      expect(found.worst!.backpressured).toBe(worst);
      expect(found.busiest!.busy).toBe(Math.max(...own.map((one) => one.busy_ms_per_s.at(-1)!)) / 1000);
      expect(found.busiest).toBe(found.subtasks[found.busiest!.index]);
      expect(found.recordsInPerS).toBeCloseTo(own.reduce((sum, one) => sum + one.records_in_per_s.at(-1)!, 0));
      expect(found.subtasks).toHaveLength(parallelism);
    }
    expect([...figures.values()].reduce((sum, one) => sum + one.stateBytes!, 0)).toBe(body.state_bytes);
  });

  it('are not known where nothing was measured', () => {
    const found = figuresOf(graph, [], []).get(0)!;
    expect(found).toMatchObject({ level: null, worst: null, busiest: null, recordsInPerS: null, recordsOutPerS: null, stateBytes: null });
    expect(found.subtasks[0]).toMatchObject({ busy: null, backpressured: null });
  });

  it('are those of the same operators, whatever the number of their chain: another run may have another graph', () => {
    const [first, ...others] = graph.chains;
    const shifted = { ...graph, chains: [{ index: 0, parallelism: 2, operators: [{ ...first!.operators[0]!, uid: 'new' }] }, { ...first!, index: 7, parallelism: 3 }, ...others] };
    const found = figuresOf(shifted, subtasks, chains);
    expect(found.get(0)).toMatchObject({ level: null, recordsInPerS: null });
    expect(found.get(7)!.subtasks.map(({ busy }) => busy)).toEqual(figuresOf(graph, subtasks, chains).get(0)!.subtasks.slice(0, 3).map(({ busy }) => busy));
  });

  it('take sizes of states from a checkpoint of the same operators only', () => {
    const others = chains.map((one) => ({ ...one, operators: one.operators.map(({ uid, name }) => ({ uid: `${uid}2`, name })) }));
    expect(figuresOf(graph, subtasks, others).get(0)!.stateBytes).toBeNull();
  });
});

describe('the rate of an edge', () => {
  const figures = figuresOf(graph, subtasks, chains);
  const edge = graph.edges[0]!;

  it('is what its source hands on, and as often as there are subtasks if it is broadcast', () => {
    const rate = figures.get(edge.source)!.recordsOutPerS!;
    expect(rateOf(edge, figures)).toBe(rate);
    expect(rateOf({ ...edge, partitioning: 'broadcast' }, figures)).toBe(rate * figures.get(edge.target)!.subtasks.length);
  });

  it('is not known where nothing was measured', () => {
    expect(rateOf(edge, new Map())).toBeNull();
  });
});
