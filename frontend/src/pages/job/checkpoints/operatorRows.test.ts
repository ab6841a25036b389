import { describe, expect, it } from 'vitest';

import { checkpointDetail } from '../../../fake/checkpoints';
import { Installation } from '../../../fake/installation';
import type { Progress } from '../../../live/jobLive';
import { parseGraph } from '../physicalGraph';
import { chainProgress, isEqualRow, operatorRows } from './operatorRows';

const NOW = Date.parse('2026-11-22T03:08:02Z');
const job = new Installation(NOW).find(1)!;
const graph = job.template.graph;
const chains = parseGraph(graph as unknown as Record<string, unknown>).chains;
const { body, snapshots } = job.checkpoints.find((found) => found.body.state === 'COMPLETED')!;

const rowsOf = (detail: Parameters<typeof chainProgress>[0], live: Progress | null = null, known = chains) => operatorRows(chainProgress(detail, known, live), known);

describe('the operator rows of a checkpoint', () => {
  it('an operator row contains the largest durations and the total state size of its subtasks', () => {
    const rows = rowsOf(checkpointDetail(body, graph, snapshots));
    expect(rows.map(({ name }) => name)).toContain('delay by route → routes');
    for (const row of rows) {
      const own = snapshots.filter(({ chain }) => chain === row.chain);
      expect(row).toMatchObject({
        acknowledged: own.length, tookMs: Math.max(...own.map(({ afterMs }) => afterMs)), alignmentMs: Math.max(...own.map(({ alignmentMs }) => alignmentMs)),
        stateBytes: own.reduce((all, { stateBytes }) => all + stateBytes, 0),
      });
      expect(row.subtasks.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    }
  });

  it('an operator row includes subtasks that have not acknowledged', () => {
    const early = snapshots.slice(0, 3);
    const rows = rowsOf(checkpointDetail({ ...body, state: 'IN_PROGRESS' }, graph, early));
    expect(rows.reduce((all, { acknowledged }) => all + acknowledged, 0)).toBe(3);
    expect(rows.every(({ subtasks }) => subtasks.length === 4)).toBe(true);
    expect(rows.every(({ stateBytes }) => stateBytes === null)).toBe(true);
  });

  it('only the rows of a completed checkpoint have stragglers', () => {
    const stragglers = (state: typeof body.state): number => rowsOf(checkpointDetail({ ...body, state }, graph, snapshots.slice(0, -1))).reduce((all, row) => all + row.stragglers, 0);
    expect([stragglers('COMPLETED') > 0, stragglers('FAILED'), stragglers('IN_PROGRESS')]).toEqual([true, 0, 0]);
  });

  it('operator rows include the live progress of their checkpoint, but not of another checkpoint', () => {
    const detail = checkpointDetail({ ...body, state: 'IN_PROGRESS' }, graph, snapshots.slice(0, 2));
    const live: Progress = {
      checkpoint: body.number, checkpoint_id: body.id, run_id: body.run_id, trigger: 'periodic', triggered_at: body.triggered_at, subtasks: 24, acknowledged: 5,
      progress: snapshots.slice(0, 5).map(({ chain, index, afterMs }) => [chain, index, afterMs]),
    };
    const count = (progress: Progress): number => rowsOf(detail, progress).reduce((all, { acknowledged }) => all + acknowledged, 0);
    expect(count(live)).toBe(5);
    expect(count({ ...live, checkpoint_id: body.id + 1 })).toBe(2);
    expect(detail.statistics.chains.reduce((all, { subtasks }) => all + subtasks.length, 0)).toBe(2);
  });

  it('operator rows contain only the reported subtasks if the graph is unknown', () => {
    const rows = rowsOf(
      { id: 1, statistics: { ...checkpointDetail(body, graph, snapshots).statistics, chains: [] } },
      { checkpoint: 1, checkpoint_id: 1, run_id: 1, trigger: '', triggered_at: '', subtasks: 2, acknowledged: 1, progress: [[2, 0, 7]] },
      [],
    );
    expect(rows).toMatchObject([{ chain: 2, name: 'chain 2', acknowledged: 1, tookMs: 7 }]);
  });

  it('the row of an operator changes only when another subtask of the operator acknowledges', () => {
    const rows = (acknowledged: number) => rowsOf(checkpointDetail({ ...body, state: 'IN_PROGRESS' }, graph, snapshots.slice(0, acknowledged)));
    const [before, same, more] = [rows(3), rows(3), rows(4)];
    const chain = snapshots[3]!.chain;
    before.forEach((row, index) => {
      expect(isEqualRow(row, same[index]!)).toBe(true);
      expect(isEqualRow(row, more[index]!)).toBe(row.chain !== chain);
    });
    const [first] = before;
    expect(isEqualRow(first!, { ...first!, subtasks: first!.subtasks.slice(1) })).toBe(false);
    expect(isEqualRow(first!, { ...first!, stateBytes: 7 })).toBe(false);
  });
});
