import { describe, expect, it } from 'vitest';

import { beginPlayer, nextPlayer, SLOWDOWNS, type Player } from './player';

const frames = (player: Player, count: number, passedMs = 16): Player =>
  Array.from({ length: count }).reduce<Player>((before) => nextPlayer(before, { type: 'frame', passedMs }), player);

describe('the player', () => {
  it.each([[1, 1000], [40, 200], [84, 100], [3_000, 2], [120_000, 1]])('shows a checkpoint of %d ms %d times as slow, so that there is something to see', (durationMs, slowdown) => {
    expect(beginPlayer(durationMs)).toMatchObject({ slowdown, playing: true, positionMs: 0 });
  });

  it('goes on by what has passed, as slow as it was told', () => {
    expect(frames(beginPlayer(84), 100).positionMs).toBeCloseTo(16);
    expect(frames(nextPlayer(beginPlayer(84), { type: 'slowdown', slowdown: 10 }), 10).positionMs).toBeCloseTo(16);
  });

  it('stops at the end, and begins anew when it is played again', () => {
    const ended = frames(nextPlayer(beginPlayer(84), { type: 'slowdown', slowdown: 1 }), 100);
    expect(ended).toMatchObject({ positionMs: 84, playing: false });
    expect(nextPlayer(ended, { type: 'play' })).toMatchObject({ positionMs: 0, playing: true });
  });

  it('stands still while it is paused, and goes on from there', () => {
    const paused = nextPlayer(frames(beginPlayer(84), 50), { type: 'pause' });
    expect(frames(paused, 50)).toBe(paused);
    expect(nextPlayer(paused, { type: 'play' }).positionMs).toBe(paused.positionMs);
  });

  it('is not moved beyond its ends', () => {
    expect(nextPlayer(beginPlayer(84), { type: 'seek', toMs: -3 }).positionMs).toBe(0);
    expect(nextPlayer(beginPlayer(84), { type: 'seek', toMs: 500 }).positionMs).toBe(84);
  });

  it('does not jump over what happened while nobody looked', () => {
    expect(frames(nextPlayer(beginPlayer(10_000), { type: 'slowdown', slowdown: 1 }), 1, 60_000).positionMs).toBe(250);
  });

  it('offers slownesses in their order', () => {
    expect(SLOWDOWNS.toSorted((a, b) => a - b)).toEqual(SLOWDOWNS);
  });
});
