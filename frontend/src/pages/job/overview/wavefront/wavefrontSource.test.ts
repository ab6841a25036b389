import { expect, it } from 'vitest';

import { Store } from '../../../../live/store';
import { buildTopology } from './topology';
import { initialWavefront, type Wavefront } from './wavefront';
import { WavefrontSource } from './wavefrontSource';

const topology = buildTopology({ chains: [{ index: 0, parallelism: 1, operators: [] }], edges: [] });
const source = (wave: Wavefront | null) => new Store<{ wave: Wavefront | null }, Wavefront | null>({ wave }, (before, next) => (next === before.wave ? before : { wave: next }));

it('a subscriber receives only the updates of the current source', () => {
  const [live, replay, wave] = [source(null), source(initialWavefront(topology, { exact: true })), initialWavefront(topology, { exact: false })];
  const shown = new WavefrontSource(live);
  let heard = 0;
  const leave = shown.subscribe(() => (heard += 1));
  live.dispatch(wave);
  expect([heard, shown.get().wave]).toEqual([1, wave]);
  shown.show(replay);
  expect([heard, shown.get().wave]).toEqual([2, replay.get().wave]);
  live.dispatch(null);
  expect(heard).toBe(2);
  shown.show(replay);
  expect(heard).toBe(2);
  replay.dispatch(null);
  expect(heard).toBe(3);
  leave();
  shown.show(live);
  expect(heard).toBe(3);
});
