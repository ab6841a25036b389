import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { DrawQueue } from './drawQueue';

const FRAME_MS = 16;
const frame = (): void => void vi.advanceTimersByTime(FRAME_MS);

describe('the draw queue', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('draws one chart per frame in the order of requests', () => {
    const queue = new DrawQueue();
    const drawn: string[] = [];
    for (const name of ['a', 'b', 'c']) queue.request({}, () => drawn.push(name));
    expect(drawn).toEqual([]);
    frame();
    expect(drawn).toEqual(['a']);
    frame();
    frame();
    expect(drawn).toEqual(['a', 'b', 'c']);
    frame();
    expect(drawn).toHaveLength(3);
  });

  it('a repeated request of a chart replaces its drawing, but keeps its position in the queue', () => {
    const queue = new DrawQueue();
    const drawn: string[] = [];
    const one = {};
    queue.request(one, () => drawn.push('old'));
    queue.request({}, () => drawn.push('other'));
    queue.request(one, () => drawn.push('new'));
    frame();
    frame();
    frame();
    expect(drawn).toEqual(['new', 'other']);
  });

  it('skips cancelled charts', () => {
    const queue = new DrawQueue();
    const drawn: string[] = [];
    const cancelled = {};
    queue.request(cancelled, () => drawn.push('cancelled'));
    queue.request({}, () => drawn.push('here'));
    queue.cancel(cancelled);
    frame();
    expect(drawn).toEqual(['here']);
  });

  it('if the drawing of a chart fails, the next chart is drawn', () => {
    const queue = new DrawQueue();
    const drawn: string[] = [];
    queue.request({}, () => {
      throw new Error('no canvas');
    });
    queue.request({}, () => drawn.push('next'));
    expect(frame).toThrow('no canvas');
    frame();
    expect(drawn).toEqual(['next']);
  });
});
