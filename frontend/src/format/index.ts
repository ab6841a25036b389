/** Pure functions that format numbers and times for display. Unknown values become `–`. */
export { bytes, bytesPerSecond, count, pluralize, pluralizeShort, NO_VALUE, percent, perSecond } from './numbers';
export { absolute, clock, clockWithDate, clockWithMs, duration, relative, toMs, dropZeroTenths } from './times';
export type { Moment } from './times';
