import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Gathering, HIDDEN_MS } from './gathering';

const FRAME_MS = 16;

describe('what arrives within one frame', () => {
  let told: number[][];
  let gathering: Gathering<number>;

  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    gathering = new Gathering((all) => told.push(all));
  });
  afterEach(() => vi.useRealTimers());

  it('is told at once, in its order', () => {
    gathering.add([1, 2]);
    gathering.add([3]);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(told).toEqual([[1, 2, 3]]);
    gathering.add([4]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(told).toEqual([[1, 2, 3], [4]]);
  });

  it('is told once, and nothing is told where nothing came', () => {
    gathering.add([1]);
    vi.advanceTimersByTime(10 * HIDDEN_MS);
    expect(told).toEqual([[1]]);
  });

  it('may be nothing but a sign of life', () => {
    gathering.add([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(told).toEqual([[]]);
  });

  it('is told before what must not overtake it', () => {
    gathering.add([1]);
    gathering.flush();
    expect(told).toEqual([[1]]);
    gathering.flush();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(told).toEqual([[1]]);
  });

  it('is told even if the page is hidden and has no frames', () => {
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    gathering.add([1]);
    // Before timers are real again: what is put back is a frame of theirs.
    frames.mockRestore();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(told).toEqual([[1]]);
  });

  it('is not told to who has left', () => {
    gathering.add([1]);
    gathering.drop();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(told).toEqual([]);
  });
});
