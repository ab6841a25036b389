/** The width of chart texts. */

/** To compute the line height of a font, zrender measures the width of this character. */
const WIDE = '国';

/**
 * Return the width of a text, measured with the canvas. For `WIDE`, return the font size, because a full-width character is as wide as the font size.
 * Measuring `WIDE` takes 50 ms for each font size, because the browser searches all installed fonts for this character.
 */
export function textWidth(text: string, font: string, ask: (text: string, font: string) => number): number {
  const size = text === WIDE ? Number.parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? '') : Number.NaN;
  return Number.isNaN(size) ? ask(text, font) : size;
}
