import { expect, it } from 'vitest';

import { contrast } from './contrast';
import { mixed, shade } from './shade';
import { PAPER, TONES, type Mode, type Tone } from './states';

it.each(Object.keys(TONES) as Tone[])('text can be read on every shade of %s', (tone) => {
  for (const mode of ['light', 'dark'] as Mode[])
    for (const amount of [0, 0.25, 0.5, 0.75, 1]) {
      const { ground, text } = shade(tone, amount, mode);
      expect(contrast(ground, text)).toBeGreaterThanOrEqual(4.5);
    }
});

it('is paper where there is nothing, and stays within its bounds', () => {
  expect(shade('bad', 0, 'dark').ground).toBe(PAPER.dark);
  expect(shade('bad', 7, 'light')).toEqual(shade('bad', 1, 'light'));
});

it('mixes colours', () => {
  expect(mixed('#000000', '#ffffff', 0.5)).toBe('#808080');
  expect(mixed('#102030', '#ffffff', 0)).toBe('#102030');
});
