/** The width of chart texts. */

/** For the line height, zrender measures the width of this wide character in each font. */
const WIDE = '国';

/**
 * Return the width of a text, measured with the canvas. For the wide character, return the font size, which is its width. The font does not contain
 * this character, so the browser would search all installed fonts for each size, which takes 50 ms.
 */
export function textWidth(text: string, font: string, ask: (text: string, font: string) => number): number {
  const size = text === WIDE ? Number.parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? '') : Number.NaN;
  return Number.isNaN(size) ? ask(text, font) : size;
}
