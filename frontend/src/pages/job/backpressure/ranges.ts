/** How far back charts go, how fine they are, and how often they are asked for again: samples are kept for a day. */
export interface Range {
  label: string;
  seconds: number;
  stepS: number;
  againMs: number;
}

export const RANGES: readonly Range[] = [
  { label: '15 min', seconds: 900, stepS: 10, againMs: 5_000 },
  { label: '1 h', seconds: 3_600, stepS: 20, againMs: 20_000 },
  { label: '6 h', seconds: 21_600, stepS: 60, againMs: 60_000 },
  { label: '24 h', seconds: 86_400, stepS: 240, againMs: 60_000 },
];
/** What is so now is what was told in so long: slots tell every few seconds. */
export const NOW_S = 45;
export const NOW_STEP_S = 10;
export const NOW_AGAIN_MS = 5_000;
