/** The width of chart texts. */

/** zrender measures this wide character of each font as the line height. */
const WIDE = '国';

/**
 * Measure with the canvas, except for the wide character: the font lacks it, so the browser would search all installed fonts for each size,
 * which takes 50 ms. Its width is the font size.
 */
export function textWidth(text: string, font: string, ask: (text: string, font: string) => number): number {
  const size = text === WIDE ? Number.parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? '') : Number.NaN;
  return Number.isNaN(size) ? ask(text, font) : size;
}
