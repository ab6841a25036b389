import { PAPER, TONES, type Mode, type Tone } from './states';

/** As far from paper as text can still be read on it (shade.test.ts). */
const STRONGEST = 0.55;

export interface Shade {
  ground: string;
  /** For text on the ground. */
  text: string;
}

/** How much of something there is, from 0 to 1, as a ground between paper and the ink of a tone. */
export function shade(tone: Tone, amount: number, mode: Mode): Shade {
  const share = STRONGEST * Math.min(1, Math.max(0, amount));
  return { ground: mixed(PAPER[mode], TONES[tone][mode].ink, share), text: PAPER[mode === 'light' ? 'dark' : 'light'] };
}

/** `share` of the second colour, both `#rrggbb`. */
export function mixed(one: string, other: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [one, other].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number];
    return Math.round(a + (b - a) * share).toString(16).padStart(2, '0');
  });
  return `#${parts.join('')}`;
}
