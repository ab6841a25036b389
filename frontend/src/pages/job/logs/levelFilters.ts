import type { Level } from './logLine';

/** The choices of the level filter: the lowest level that is shown, and the label. */
export const LEVEL_FILTERS = { debug: 'All', info: 'Info and above', warning: 'Warnings and errors', error: 'Errors' } satisfies Partial<Record<Level, string>>;
export const isLevelFilter = (level: string | null): level is keyof typeof LEVEL_FILTERS => level !== null && level in LEVEL_FILTERS;
