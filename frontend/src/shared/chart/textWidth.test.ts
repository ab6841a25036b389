import { expect, it } from 'vitest';

import { textWidth } from './textWidth';

const ask = (text: string, font: string): number => text.length * font.length;

it('measures a text with the canvas', () => {
  expect(textWidth('end to end', '12px Inter', ask)).toBe(100);
});

it('takes the font size as the width of the wide character', () => {
  const never = (): number => {
    throw new Error('measured');
  };
  expect(textWidth('国', 'normal 11px "Inter Variable", Inter', never)).toBe(11);
  expect(textWidth('国', 'bold 10.5px sans-serif', never)).toBe(10.5);
});

it('measures the wide character if the font has no size', () => {
  expect(textWidth('国', 'Inter', ask)).toBe(5);
});
