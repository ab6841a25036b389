import { expect, it } from 'vitest';

import { measured } from './measuring';

const ask = (text: string, font: string): number => text.length * font.length;

it('the browser says how wide a text is', () => {
  expect(measured('end to end', '12px Inter', ask)).toBe(100);
});

it('a wide character is as wide as its font is high, and nobody is asked', () => {
  const never = (): number => {
    throw new Error('it was asked');
  };
  expect(measured('国', 'normal 11px "Inter Variable", Inter', never)).toBe(11);
  expect(measured('国', 'bold 10.5px sans-serif', never)).toBe(10.5);
});

it('of a font without a size the browser is asked', () => {
  expect(measured('国', 'Inter', ask)).toBe(5);
});
