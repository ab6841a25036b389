import { expect, it } from 'vitest';

import { Store } from '../../../live/store';
import { topologyOf } from './topology';
import { beginWave, type Wave } from './wavefront';
import { Shown } from './waveSource';

const topology = topologyOf({ chains: [{ index: 0, parallelism: 1, operators: [] }], edges: [] });
const source = (wave: Wave | null) => new Store<{ wave: Wave | null }, Wave | null>({ wave }, (before, told) => (told === before.wave ? before : { wave: told }));

it('who follows what is shown hears of the one that is shown, and of no other', () => {
  const [live, replay, wave] = [source(null), source(beginWave(topology, { exact: true })), beginWave(topology, { exact: false })];
  const shown = new Shown(live);
  let heard = 0;
  const leave = shown.subscribe(() => (heard += 1));
  live.tell(wave);
  expect([heard, shown.get().wave]).toEqual([1, wave]);
  shown.show(replay);
  expect([heard, shown.get().wave]).toEqual([2, replay.get().wave]);
  live.tell(null);
  expect(heard).toBe(2);
  shown.show(replay);
  expect(heard).toBe(2);
  replay.tell(null);
  expect(heard).toBe(3);
  leave();
  shown.show(live);
  expect(heard).toBe(3);
});
