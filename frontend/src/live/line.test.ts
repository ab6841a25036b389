import { describe, expect, it } from 'vitest';

import { CAUGHT_UP_AFTER_MS, nextLine, opening, type Line, type LineNews } from './line';

const play = (line: Line, ...news: LineNews[]): Line => news.reduce(nextLine, line);
const live = play(opening(0), { type: 'opened', nowMs: 10 }, { type: 'heard', nowMs: 20, what: 'standing', entries: 0 });
const broken = play(live, { type: 'broken', nowMs: 100, why: 'gone', againInMs: 500 });

describe('a line', () => {
  it('is live once it was opened', () => {
    expect(live).toEqual({ is: 'live', heardAtMs: 20 });
  });

  it('knows when it was last heard, however often it fails to come back', () => {
    expect(broken).toEqual({ is: 'broken', heardAtMs: 20, why: 'gone', againAtMs: 600 });
    expect(play(broken, { type: 'broken', nowMs: 700, why: 'still gone', againInMs: 1000 })).toMatchObject({ heardAtMs: 20, againAtMs: 1700 });
  });

  it('was never heard if it never was', () => {
    expect(play(opening(0), { type: 'broken', nowMs: 5, why: 'away', againInMs: 500 })).toMatchObject({ is: 'broken', heardAtMs: null });
  });

  it('counts what was missed, until it hears how things are', () => {
    const opened = play(broken, { type: 'opened', nowMs: 800 }, { type: 'heard', nowMs: 801, what: 'nothing', entries: 0 });
    expect(opened).toMatchObject({ is: 'catching-up', missed: 0, heardAtMs: 20 });
    const told = play(opened, { type: 'heard', nowMs: 810, what: 'entries', entries: 200 }, { type: 'heard', nowMs: 820, what: 'entries', entries: 7 });
    expect(told).toMatchObject({ is: 'catching-up', missed: 207, heardAtMs: 820 });
    expect(play(told, { type: 'heard', nowMs: 830, what: 'standing', entries: 0 })).toEqual({ is: 'live', heardAtMs: 830 });
  });

  it('has caught up when nothing comes for a while but signs of life', () => {
    const opened = play(broken, { type: 'opened', nowMs: 800 });
    expect(play(opened, { type: 'heard', nowMs: 800 + CAUGHT_UP_AFTER_MS, what: 'nothing', entries: 0 })).toMatchObject({ is: 'live' });
  });

  it('is not called broken for ending as it does every some minutes', () => {
    expect(play(live, { type: 'broken', nowMs: 900, why: 'ended', againInMs: 0 })).toBe(live);
  });

  it('that was given back is none that is broken, unless it cannot be had again', () => {
    const resting = play(live, { type: 'rested' });
    expect(resting).toEqual({ is: 'resting', heardAtMs: 20 });
    expect(play(broken, { type: 'rested' })).toEqual(resting);
    expect(play(resting, { type: 'opened', nowMs: 900 })).toEqual({ is: 'catching-up', heardAtMs: 20, sinceMs: 900, missed: 0 });
    expect(play(resting, { type: 'broken', nowMs: 900, why: 'away', againInMs: 500 })).toEqual({ is: 'broken', heardAtMs: 20, why: 'away', againAtMs: 1400 });
    expect(play(opening(0), { type: 'rested' }, { type: 'opened', nowMs: 900 })).toEqual({ is: 'live', heardAtMs: 900 });
  });

  it('stays refused', () => {
    expect(play(live, { type: 'refused', nowMs: 1, why: 'there is no job 7' })).toEqual({ is: 'refused', why: 'there is no job 7' });
  });
});
