import { describe, expect, it } from 'vitest';

import { initialPlayback, reducePlayback, SLOWDOWNS, type Playback } from './playback';

const frames = (playback: Playback, count: number, passedMs = 16): Playback =>
  Array.from({ length: count }).reduce<Playback>((before) => reducePlayback(before, { type: 'frame', passedMs }), playback);

describe('the playback', () => {
  it.each([[1, 1000], [40, 200], [84, 100], [3_000, 2], [120_000, 1]])('by default, the replay of a checkpoint of %d ms is slowed down by a factor of %d', (durationMs, slowdown) => {
    expect(initialPlayback(durationMs)).toMatchObject({ slowdown, playing: true, positionMs: 0 });
  });

  it('the position advances by the elapsed time divided by the slowdown', () => {
    expect(frames(initialPlayback(84), 100).positionMs).toBeCloseTo(16);
    expect(frames(reducePlayback(initialPlayback(84), { type: 'slowdown', slowdown: 10 }), 10).positionMs).toBeCloseTo(16);
  });

  it('the playback stops at the end, and restarts if the user plays the recording again', () => {
    const ended = frames(reducePlayback(initialPlayback(84), { type: 'slowdown', slowdown: 1 }), 100);
    expect(ended).toMatchObject({ positionMs: 84, playing: false });
    expect(reducePlayback(ended, { type: 'play' })).toMatchObject({ positionMs: 0, playing: true });
  });

  it('a paused playback keeps its position', () => {
    const paused = reducePlayback(frames(initialPlayback(84), 50), { type: 'pause' });
    expect(frames(paused, 50)).toBe(paused);
    expect(reducePlayback(paused, { type: 'play' }).positionMs).toBe(paused.positionMs);
  });

  it('a seek before the start goes to the start, and a seek beyond the end goes to the end', () => {
    expect(reducePlayback(initialPlayback(84), { type: 'seek', toMs: -3 }).positionMs).toBe(0);
    expect(reducePlayback(initialPlayback(84), { type: 'seek', toMs: 500 }).positionMs).toBe(84);
  });

  it('the playback does not skip ahead after the page was hidden', () => {
    expect(frames(reducePlayback(initialPlayback(10_000), { type: 'slowdown', slowdown: 1 }), 1, 60_000).positionMs).toBe(250);
  });

  it('the slowdowns are listed in ascending order', () => {
    expect(SLOWDOWNS.toSorted((a, b) => a - b)).toEqual(SLOWDOWNS);
  });
});
