/** Simulated metrics of subtasks and slots, as in `GET /jobs/{id}/metrics`. */
import type { Schemas } from '../api/types';
import { Random } from './random';
import { iso, type FakeJob, type JobTemplate } from './model';

const POINTS_MAX = 360;

/** From this level of backpressure, the last chain of a fake job is its bottleneck. */
const BOTTLENECK_FROM = 0.5;

/** Return the bottleneck of a running job, or null. `sinceMs`: the time at which the job became slow. */
export function bottleneckOf({ graph, backpressure }: JobTemplate, sinceMs: number): Schemas['BottleneckRead'] | null {
  const last = graph.chains.at(-1)!;
  if (backpressure < BOTTLENECK_FROM || graph.chains.length < 2) return null;
  return {
    sentence: `One of the chained operators ${last.operators.join(' and ')} is the bottleneck: busy 97 % for 4 min, and its input is backpressured.`,
    chain: last.index, operators: last.operators, is_source: false, is_sink: true, parallelism: last.parallelism, subtasks: [], cause: null, busy: 0.97, siblings_busy: null,
    slot_saturated: false, input_backpressured: true, waiting_records: 0, waiting_s: 0, since: iso(sinceMs), lag_records: null, lag_seconds: null,
  };
}

function levelOf(ratio: number): Schemas['BackpressureLevel'] {
  return ratio <= 0.1 ? 'ok' : ratio <= 0.5 ? 'low' : 'high';
}

/** A random generator whose seed is the subtask and the time, so that repeated requests return the same values. */
function randomAt(jobId: number, chain: number, index: number, step: number): Random {
  return new Random((jobId * 73_856_093) ^ (chain * 19_349_663) ^ (index * 83_492_791) ^ step);
}

interface Point {
  records: number;
  backpressured: number;
  busy: number;
  queued: number;
}

function pointOf({ template, job }: FakeJob, chain: number, index: number, step: number): Point {
  const random = randomAt(job.id, chain, index, step);
  const wave = 1 + 0.25 * Math.sin(step / 9 + job.id);
  const last = template.graph.chains.length - 1;
  // Chains upstream of the slow chain are backpressured, and the slow chain is busy.
  const backpressure = chain < last ? template.backpressure * (index === 1 ? 1 : 0.6) : 0;
  const backpressured = Math.min(0.95, Math.max(0, backpressure * wave + random.between(-0.03, 0.03)));
  const share = chain !== last ? 0.22 : template.backpressure >= BOTTLENECK_FROM ? 0.97 : 0.25 + template.backpressure * 0.9;
  const busy = Math.min(1 - backpressured, share + random.between(0, 0.12));
  return { records: template.recordsPerS * wave * random.between(0.92, 1.08) * (chain === 0 ? 1 : 0.8), backpressured, busy, queued: Math.min(1 - backpressured - busy, random.between(0, 0.08)) };
}

export function metricsOf(one: FakeJob, nowMs: number, sinceMs: number, stepS: number, wanted: number | null = null): Schemas['MetricsRead'] {
  const step_s = Math.max(stepS, (nowMs - sinceMs) / 1000 / POINTS_MAX);
  const runs = one.job.state === 'RUNNING';
  const first = Math.ceil(sinceMs / (step_s * 1000));
  const steps = runs ? Array.from({ length: Math.max(0, Math.floor(nowMs / (step_s * 1000)) - first + 1) }, (_, at) => first + at) : [];
  const moments = steps.map((step) => iso(step * step_s * 1000));
  const names = new Map(one.template.graph.logical.operators.map(({ uid, name }) => [uid, name]));
  const subtasks = one.template.graph.chains.filter(({ index }) => wanted === null || index === wanted).flatMap(({ index: chain, operators, parallelism }) =>
    Array.from({ length: steps.length === 0 ? 0 : parallelism }, (_, index) => {
      const points = steps.map((step) => pointOf(one, chain, index, Math.round((step * step_s) / 10)));
      return {
        chain, index, operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })), at: moments,
        records_in_per_s: points.map(({ records }) => records), records_out_per_s: points.map(({ records }) => records * 0.8),
        bytes_in_per_s: points.map(({ records }) => records * 92), bytes_out_per_s: points.map(({ records }) => records * 61),
        busy_ms_per_s: points.map(({ busy }) => 1000 * busy), backpressured_ms_per_s: points.map(({ backpressured }) => 1000 * backpressured),
        queued_ms_per_s: points.map(({ queued }) => 1000 * queued), idle_ms_per_s: points.map(({ busy, backpressured, queued }) => 1000 * (1 - busy - backpressured - queued)),
        pressure_ms_per_s: points.map(({ backpressured }) => 1000 * backpressured), backpressure: points.map(({ backpressured }) => levelOf(backpressured)),
      };
    }),
  );
  const slots = Array.from({ length: steps.length === 0 ? 0 : one.template.graph.slots }, (_, slot) => ({
    slot, at: moments, rss_bytes: steps.map((step) => Math.round(412e6 + 30e6 * Math.sin(step / 13 + slot))), utilisation: steps.map((step) => 0.4 + 0.3 * randomAt(one.job.id, 99, slot, step).next()),
    gauges: one.template.lagRecords === null ? {} : { [`${one.template.graph.logical.operators[0]!.uid}.lag_records`]: steps.map(() => Math.round(one.template.lagRecords! / one.template.graph.slots)) },
  }));
  return { since: iso(sinceMs), until: iso(nowMs), step_s, subtasks, slots, bottleneck: one.job.bottleneck };
}

export function ratesOf(one: FakeJob, nowMs: number): Schemas['JobRatesRead'] | null {
  if (one.job.state !== 'RUNNING') return null;
  const step = Math.round(nowMs / 10_000);
  const { chains, edges } = one.template.graph;
  const sources = chains.filter(({ index }) => !edges.some(({ target }) => target === index));
  const read = sources.flatMap(({ index: chain, parallelism }) => Array.from({ length: parallelism }, (_, index) => pointOf(one, chain, index, step).records));
  const worst = Math.max(...chains.flatMap(({ index: chain, parallelism }) => Array.from({ length: parallelism }, (_, index) => pointOf(one, chain, index, step).backpressured)));
  return {
    job_id: one.job.id, at: iso(nowMs), records_per_s: read.reduce((a, b) => a + b, 0), lag_records: one.template.lagRecords, lag_seconds: null, backpressure: levelOf(worst),
  };
}
