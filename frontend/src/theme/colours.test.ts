import { expect, it } from 'vitest';

import { contrast, mixColours, shade } from './colours';
import { PAPER, TONES, type Mode, type Tone } from './states';
import { ERROR_NOTIFICATION } from './theme';

it.each(Object.keys(TONES) as Tone[])('text is readable on every shade of %s', (tone) => {
  for (const mode of ['light', 'dark'] as Mode[])
    for (const amount of [0, 0.25, 0.5, 0.75, 1]) {
      const { ground, text } = shade(tone, amount, mode);
      expect(contrast(ground, text)).toBeGreaterThanOrEqual(4.5);
    }
});

it('the text of an error notification is readable', () => {
  expect(contrast(ERROR_NOTIFICATION.backgroundColor, ERROR_NOTIFICATION.color)).toBeGreaterThanOrEqual(4.5);
});

it('a shade of 0 is the background colour, and shades are limited to the range 0 to 1', () => {
  expect(shade('bad', 0, 'dark').ground).toBe(PAPER.dark);
  expect(shade('bad', 7, 'light')).toEqual(shade('bad', 1, 'light'));
});

it('two colours are mixed by share', () => {
  expect(mixColours('#000000', '#ffffff', 0.5)).toBe('#808080');
  expect(mixColours('#102030', '#ffffff', 0)).toBe('#102030');
});
