/** The jobs of the fake installation. */
import { graphOf, type FakeGraph } from './graph';
import type { JobTemplate } from './model';

const flightsGraph = (job: string, parallelism: number): FakeGraph =>
  graphOf(job, parallelism, [
    ['flights', 'flights', 'source', []],
    ['weather', 'weather', 'source', []],
    ['parse', 'parse delays', 'with_columns', [['flights', 'forward']]],
    ['late', 'late only', 'filter', [['parse', 'forward']]],
    ['both', 'flights and weather', 'union', [['late', 'hash', 'origin'], ['weather', 'hash', 'origin']]],
    ['by_route', 'delay by route', 'aggregate', [['both', 'hash', 'origin', 'dest']]],
    ['by_carrier', 'delay by carrier', 'aggregate', [['both', 'hash', 'carrier']]],
    ['routes', 'routes', 'sink', [['by_route', 'forward']]],
    ['carriers', 'carriers', 'sink', [['by_carrier', 'rebalance']]],
  ]);

const countsGraph = (job: string, parallelism: number): FakeGraph =>
  graphOf(job, parallelism, [
    ['in', 'events', 'source', []],
    ['clean', 'clean', 'map_batches', [['in', 'forward']]],
    ['counts', 'counts by user', 'aggregate', [['clean', 'hash', 'user']]],
    ['out', 'counts', 'sink', [['counts', 'forward']]],
  ]);

const DEFAULTS = { description: '', labels: {}, desired: 'RUNNING', state: 'RUNNING', health: 'healthy', healthReason: '', restarts: 0, backpressure: 0.04, lagRecords: 0 } as const;

export const JOB_TEMPLATES: readonly JobTemplate[] = [
  {
    ...DEFAULTS, name: 'flights-delays', description: 'Delays by route and carrier, live from the tower feed', labels: { team: 'ops', tier: '1' },
    graph: flightsGraph('flights', 4), recordsPerS: 41_000, stateBytes: 184e6, backpressure: 0.34, lagRecords: 12_840, restarts: 2, lastCheckpointAgeS: 6,
  },
  { ...DEFAULTS, name: 'payments-fraud-score', description: 'Scores of card payments', labels: { team: 'risk', tier: '0' }, graph: countsGraph('fraud', 8), recordsPerS: 9_800, stateBytes: 2.3e9, backpressure: 0.71, lagRecords: 2_418_000, restarts: 1, lastCheckpointAgeS: 21 },
  { ...DEFAULTS, name: 'clicks-sessions', graph: countsGraph('clicks', 2), recordsPerS: 3_100, stateBytes: 96e6, lagRecords: 310, lastCheckpointAgeS: 3 },
  {
    ...DEFAULTS, name: 'orders-enrichment', graph: countsGraph('orders', 4), state: 'FAILED', health: 'needs_attention', restarts: 10, recordsPerS: 0, stateBytes: 410e6,
    healthReason: 'The job has failed 10 times in a row, last with: sink out: disk quota exceeded on /warehouse/orders', lagRecords: null, lastCheckpointAgeS: 5_400,
  },
  {
    ...DEFAULTS, name: 'meters-rollup', graph: countsGraph('meters', 4), state: 'RESTARTING', health: 'degraded', restarts: 3, recordsPerS: 0, stateBytes: 51e6,
    healthReason: 'slot 2 was lost: executor killed by the cluster manager', lagRecords: null, lastCheckpointAgeS: 47,
  },
  { ...DEFAULTS, name: 'search-index-feed', graph: countsGraph('search', 2), state: 'RECONCILING', health: 'degraded', healthReason: 'The driver is unreachable. Weir is checking whether the driver is running.', recordsPerS: 0, stateBytes: 7.2e6, lagRecords: null, lastCheckpointAgeS: 310 },
  { ...DEFAULTS, name: 'ads-attribution', graph: countsGraph('ads', 4), desired: 'SUSPENDED', state: 'SUSPENDED', recordsPerS: 0, stateBytes: 880e6, lagRecords: null, lastCheckpointAgeS: 86_400 * 3 },
  { ...DEFAULTS, name: 'backfill-2025', description: 'One pass over last year', graph: countsGraph('backfill', 4), state: 'FINISHED', recordsPerS: 0, stateBytes: 12e6, lagRecords: null, lastCheckpointAgeS: 86_400 * 9 },
  { ...DEFAULTS, name: 'experiment-topk', graph: countsGraph('topk', 1), desired: 'CANCELLED', state: 'CANCELED', recordsPerS: 0, stateBytes: 0, lagRecords: null, lastCheckpointAgeS: null },
];

/**
 * Return the largest job with which the UI must stay responsive. This job has 200 operators, each in a separate chain with 8 subtasks. A
 * checkpoint takes about five seconds and the next checkpoint follows immediately, so there are ten updates a second.
 */
export function wideJobTemplate(columns = 20, rows = 10, parallelism = 8): JobTemplate {
  const uid = (column: number, row: number): string => `op_${column}_${row}`;
  const steps = Array.from({ length: columns * rows }, (_, at) => {
    const [column, row] = [Math.floor(at / rows), at % rows];
    const kind = column === 0 ? 'source' : column === columns - 1 ? 'sink' : column % 3 === 0 ? 'aggregate' : 'map_batches';
    const from = column === 0 ? [] : row % 3 === 0 && row + 1 < rows ? [row, row + 1] : [row];
    return [uid(column, row), `stage ${column} of ${row}`, kind, from.map((other) => [uid(column - 1, other), 'hash', 'key'])] as Parameters<typeof graphOf>[2][number];
  });
  return {
    ...DEFAULTS, name: 'wide', graph: graphOf('wide', parallelism, steps), recordsPerS: 2_000, stateBytes: 3e9, backpressure: 0.3, lastCheckpointAgeS: 5,
    tempoMs: 400, intervalMs: 5_000,
  };
}
