/** What people read: pure functions, `–` for what is not known. */
export { bytes, bytesPerSecond, count, counted, countedRoughly, NOTHING, percent, perSecond } from './numbers';
export { absolute, clock, clockOnDay, duration, relative, toMs, untenthed } from './times';
export type { Moment } from './times';
