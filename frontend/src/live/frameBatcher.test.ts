import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FrameBatcher, HIDDEN_MS } from './frameBatcher';

const FRAME_MS = 16;

describe('items of one frame', () => {
  let delivered: number[][];
  let batcher: FrameBatcher<number>;

  beforeEach(() => {
    vi.useFakeTimers();
    delivered = [];
    batcher = new FrameBatcher((batch) => delivered.push(batch));
  });
  afterEach(() => vi.useRealTimers());

  it('are delivered together in order', () => {
    batcher.add([1, 2]);
    batcher.add([3]);
    expect(delivered).toEqual([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[1, 2, 3]]);
    batcher.add([4]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[1, 2, 3], [4]]);
  });

  it('are delivered once', () => {
    batcher.add([1]);
    vi.advanceTimersByTime(10 * HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('may be an empty keep-alive', () => {
    batcher.add([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[]]);
  });

  it('are delivered early by a flush', () => {
    batcher.add([1]);
    batcher.flush();
    expect(delivered).toEqual([[1]]);
    batcher.flush();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('are delivered on a hidden page, which has no frames', () => {
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    batcher.add([1]);
    // Restore before the real timers come back, because the original is a fake frame.
    frames.mockRestore();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('are not delivered after a drop', () => {
    batcher.add([1]);
    batcher.drop();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([]);
  });
});
