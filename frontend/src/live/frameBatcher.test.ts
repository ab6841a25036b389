import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FrameBatcher, HIDDEN_MS } from './frameBatcher';

const FRAME_MS = 16;

describe('FrameBatcher', () => {
  let delivered: number[][];
  let batcher: FrameBatcher<number>;

  beforeEach(() => {
    vi.useFakeTimers();
    delivered = [];
    batcher = new FrameBatcher((batch) => delivered.push(batch));
  });
  afterEach(() => vi.useRealTimers());

  it('delivers the items of one frame together and in order', () => {
    batcher.add([1, 2]);
    batcher.add([3]);
    expect(delivered).toEqual([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[1, 2, 3]]);
    batcher.add([4]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[1, 2, 3], [4]]);
  });

  it('delivers each item only once', () => {
    batcher.add([1]);
    vi.advanceTimersByTime(10 * HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('delivers an empty list of items', () => {
    batcher.add([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[]]);
  });

  it('a flush delivers pending items immediately', () => {
    batcher.add([1]);
    batcher.flush();
    expect(delivered).toEqual([[1]]);
    batcher.flush();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('delivers items after a delay on a hidden page, which has no frames', () => {
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    batcher.add([1]);
    // Restore this mock before the real timers are restored, because the mocked function belongs to the fake timers.
    frames.mockRestore();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('does not deliver dropped items', () => {
    batcher.add([1]);
    batcher.drop();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([]);
  });
});
