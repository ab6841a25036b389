import { describe, expect, it } from 'vitest';

import { detailOf } from '../../../fake/checkpointing';
import { World } from '../../../fake/world';
import type { Progress } from '../../../live/jobLive';
import { chainsOf, chainsSoFar, looksLike, operatorRows } from './operators';

const NOW = Date.parse('2026-11-22T03:08:02Z');
const one = new World(NOW).find(1)!;
const graph = one.scene.graph;
const chains = chainsOf(graph as unknown as Record<string, unknown>);
const { body, measured } = one.checkpoints.find((found) => found.body.state === 'COMPLETED')!;

const rowsOf = (detail: Parameters<typeof chainsSoFar>[0], live: Progress | null = null, known = chains) => operatorRows(chainsSoFar(detail, known, live), known);

describe('a checkpoint by operator', () => {
  it('has the worst of the subtasks, and the state of all of them', () => {
    const rows = rowsOf(detailOf(body, graph, measured));
    expect(rows.map(({ name }) => name)).toContain('delay by route → routes');
    for (const row of rows) {
      const own = measured.filter(({ chain }) => chain === row.chain);
      expect(row).toMatchObject({
        acknowledged: own.length, tookMs: Math.max(...own.map(({ afterMs }) => afterMs)), alignmentMs: Math.max(...own.map(({ alignmentMs }) => alignmentMs)),
        stateBytes: own.reduce((all, { stateBytes }) => all + stateBytes, 0),
      });
      expect(row.subtasks.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    }
  });

  it('lists those that have not acknowledged, too', () => {
    const early = measured.slice(0, 3);
    const rows = rowsOf(detailOf({ ...body, state: 'IN_PROGRESS' }, graph, early));
    expect(rows.reduce((all, { acknowledged }) => all + acknowledged, 0)).toBe(3);
    expect(rows.every(({ subtasks }) => subtasks.length === 4)).toBe(true);
    expect(rows.every(({ stateBytes }) => stateBytes === null)).toBe(true);
  });

  it('blames nobody who has acknowledged while others have not', () => {
    const stragglers = (state: typeof body.state): number => rowsOf(detailOf({ ...body, state }, graph, measured.slice(0, -1))).reduce((all, row) => all + row.stragglers, 0);
    expect([stragglers('COMPLETED') > 0, stragglers('FAILED'), stragglers('IN_PROGRESS')]).toEqual([true, 0, 0]);
  });

  it('grows by what its stream tells, and by no other checkpoint', () => {
    const detail = detailOf({ ...body, state: 'IN_PROGRESS' }, graph, measured.slice(0, 2));
    const live: Progress = {
      checkpoint: body.number, checkpoint_id: body.id, run_id: body.run_id, trigger: 'periodic', triggered_at: body.triggered_at, subtasks: 24, acknowledged: 5,
      progress: measured.slice(0, 5).map(({ chain, index, afterMs }) => [chain, index, afterMs]),
    };
    const count = (progress: Progress): number => rowsOf(detail, progress).reduce((all, { acknowledged }) => all + acknowledged, 0);
    expect(count(live)).toBe(5);
    expect(count({ ...live, checkpoint_id: body.id + 1 })).toBe(2);
    expect(detail.statistics.chains.reduce((all, { subtasks }) => all + subtasks.length, 0)).toBe(2);
  });

  it('does without a graph', () => {
    const rows = rowsOf(
      { id: 1, statistics: { ...detailOf(body, graph, measured).statistics, chains: [] } },
      { checkpoint: 1, checkpoint_id: 1, run_id: 1, trigger: '', triggered_at: '', subtasks: 2, acknowledged: 1, progress: [[2, 0, 7]] },
      chainsOf(undefined),
    );
    expect(rows).toMatchObject([{ chain: 2, name: 'chain 2', acknowledged: 1, tookMs: 7 }]);
  });

  it('looks the same as long as nobody else has acknowledged', () => {
    const rows = (acknowledged: number) => rowsOf(detailOf({ ...body, state: 'IN_PROGRESS' }, graph, measured.slice(0, acknowledged)));
    const [before, same, more] = [rows(3), rows(3), rows(4)];
    const chain = measured[3]!.chain;
    before.forEach((row, place) => {
      expect(looksLike(row, same[place]!)).toBe(true);
      expect(looksLike(row, more[place]!)).toBe(row.chain !== chain);
    });
    const [first] = before;
    expect(looksLike(first!, { ...first!, subtasks: first!.subtasks.slice(1) })).toBe(false);
    expect(looksLike(first!, { ...first!, stateBytes: 7 })).toBe(false);
  });
});
