/** Where the tree of checkpoints is drawn. Pure. */
export const ROW_HEIGHT = 46;
const LANE_WIDTH = 20;
const MARGIN = 16;
/** A tree that branched more often than that is drawn over itself rather than over the text. */
const LANES_MAX = 8;

export const xOf = (lane: number): number => MARGIN + Math.min(lane, LANES_MAX - 1) * LANE_WIDTH;
export const yOf = (row: number): number => (row + 0.5) * ROW_HEIGHT;
export const widthOf = (lanes: number): number => xOf(lanes - 1) + MARGIN;

/** From the older row up to the newer one: into its lane at once, and straight up from there. */
export function edgePath(older: { row: number; lane: number }, newer: { row: number; lane: number }): string {
  const [x1, y1, x2, y2] = [xOf(older.lane), yOf(older.row), xOf(newer.lane), yOf(newer.row)];
  if (x1 === x2) return `M${x1} ${y1}V${y2}`;
  const turned = y1 - ROW_HEIGHT;
  return `M${x1} ${y1}C${x1} ${y1 - 0.6 * ROW_HEIGHT} ${x2} ${y1 - 0.4 * ROW_HEIGHT} ${x2} ${turned}V${y2}`;
}
