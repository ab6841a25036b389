import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FrameBatcher, HIDDEN_MS } from './frameBatcher';

const FRAME_MS = 16;

describe('items that are added within a frame', () => {
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

  it('are delivered only once', () => {
    batcher.add([1]);
    vi.advanceTimersByTime(10 * HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('are delivered even if the list is empty', () => {
    batcher.add([]);
    vi.advanceTimersByTime(FRAME_MS);
    expect(delivered).toEqual([[]]);
  });

  it('are delivered immediately by a flush', () => {
    batcher.add([1]);
    batcher.flush();
    expect(delivered).toEqual([[1]]);
    batcher.flush();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('are delivered after a delay on a hidden page, which has no frames', () => {
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    batcher.add([1]);
    // Restore the mock before the real timers are restored, because the mocked function is itself fake.
    frames.mockRestore();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([[1]]);
  });

  it('are not delivered if they are dropped', () => {
    batcher.add([1]);
    batcher.drop();
    vi.advanceTimersByTime(HIDDEN_MS);
    expect(delivered).toEqual([]);
  });
});
