import { expect, it } from 'vitest';

import { textWidth } from './textWidth';

const measure = (text: string, font: string): number => text.length * font.length;

it('the width of a text is measured with the canvas', () => {
  expect(textWidth('end to end', '12px Inter', measure)).toBe(100);
});

it('the width of a full-width character is the font size', () => {
  const never = (): number => {
    throw new Error('measured');
  };
  expect(textWidth('国', 'normal 11px "Inter Variable", Inter', never)).toBe(11);
  expect(textWidth('国', 'bold 10.5px sans-serif', never)).toBe(10.5);
});

it('a full-width character is measured if the CSS font contains no size in px', () => {
  expect(textWidth('国', 'Inter', measure)).toBe(5);
});
