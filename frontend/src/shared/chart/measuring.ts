/** How wide texts of charts are. Pure but for the canvas that is asked. */

/** What zrender takes for the height of a line: it measures a wide character of each font. */
const WIDE = '国';

/**
 * The browser is asked, but for the wide character: its font has none, so the browser would look through all that are installed, for each size
 * anew, which takes it a twentieth of a second. It is as wide as the font is high.
 */
export function measured(text: string, font: string, ask: (text: string, font: string) => number): number {
  const size = text === WIDE ? Number.parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? '') : Number.NaN;
  return Number.isNaN(size) ? ask(text, font) : size;
}
