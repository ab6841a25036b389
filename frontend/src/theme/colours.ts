import { type Mode, PAPER, type Tone, TONES } from './states';

/** The strongest shade on which text is still readable (tested in colours.test.ts). */
const STRONGEST = 0.55;

interface Shade {
  ground: string;
  /** The colour of text on the background `ground`. */
  text: string;
}

/** Return a background between the default background (amount 0) and the strongest shade of a tone (amount 1). */
export function shade(tone: Tone, amount: number, mode: Mode): Shade {
  const share = STRONGEST * Math.min(1, Math.max(0, amount));
  return { ground: mixColours(PAPER[mode], TONES[tone][mode].ink, share), text: PAPER[mode === 'light' ? 'dark' : 'light'] };
}

/** Mix two colours `#rrggbb`. `share` is the share of the second colour. */
export function mixColours(one: string, other: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [one, other].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number];
    return Math.round(a + (b - a) * share).toString(16).padStart(2, '0');
  });
  return `#${parts.join('')}`;
}

/**
 * Return the contrast ratio of WCAG 2.2 between two colours `#rrggbb`, from 1 to 21. Text requires a contrast ratio of 4.5, and graphics require a
 * contrast ratio of 3.
 */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
