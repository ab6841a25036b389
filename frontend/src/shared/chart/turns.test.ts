import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Turns } from './turns';

const FRAME_MS = 16;
const frame = (): void => void vi.advanceTimersByTime(FRAME_MS);

describe('charts', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are drawn one in each frame, in the order in which they asked', () => {
    const turns = new Turns();
    const drawn: string[] = [];
    for (const name of ['a', 'b', 'c']) turns.ask({}, () => drawn.push(name));
    expect(drawn).toEqual([]);
    frame();
    expect(drawn).toEqual(['a']);
    frame();
    frame();
    expect(drawn).toEqual(['a', 'b', 'c']);
    frame();
    expect(drawn).toHaveLength(3);
  });

  it('draw what they asked for last, and keep their place', () => {
    const turns = new Turns();
    const drawn: string[] = [];
    const one = {};
    turns.ask(one, () => drawn.push('old'));
    turns.ask({}, () => drawn.push('other'));
    turns.ask(one, () => drawn.push('new'));
    frame();
    frame();
    frame();
    expect(drawn).toEqual(['new', 'other']);
  });

  it('that are gone are not drawn, and hold nobody up', () => {
    const turns = new Turns();
    const drawn: string[] = [];
    const gone = {};
    turns.ask(gone, () => drawn.push('gone'));
    turns.ask({}, () => drawn.push('here'));
    turns.leave(gone);
    frame();
    expect(drawn).toEqual(['here']);
  });

  it('go on after one that could not be drawn', () => {
    const turns = new Turns();
    const drawn: string[] = [];
    turns.ask({}, () => {
      throw new Error('no canvas');
    });
    turns.ask({}, () => drawn.push('next'));
    expect(frame).toThrow('no canvas');
    frame();
    expect(drawn).toEqual(['next']);
  });
});
