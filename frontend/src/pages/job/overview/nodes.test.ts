import { describe, expect, it } from 'vitest';

import { figuresOf } from './figures';
import type { PhysicalGraph } from './graph';
import type { Placed } from './layout';
import { inSight, looksLike, NEAR_ZOOM, nodesOf, overlap, readable, sameBox, viewportOf, ZOOM_MIN } from './nodes';

const graph: PhysicalGraph = {
  chains: [0, 1].map((index) => ({ index, parallelism: 2, operators: [{ uid: `u${index}`, name: `op ${index}`, kind: 'map', stateful: false, site: '' }] })),
  edges: [],
};
const placed: Placed = { width: 500, height: 120, chains: new Map([[0, { x: 12, y: 12, width: 206, height: 90 }], [1, { x: 280, y: 12, width: 206, height: 90 }]]), edges: new Map() };
const ALL = { x: 0, y: 0, width: 500, height: 120 };
const none = figuresOf(graph, [], []);

describe('nodes of the graph', () => {
  it('stand where the layout has put them, and say what they are', () => {
    const [first] = nodesOf(graph, placed, none, ALL);
    expect(first).toMatchObject({ id: '0', position: { x: 12, y: 12 }, width: 206, ariaLabel: 'op 0, 2 subtasks', data: { chain: graph.chains[0], near: true } });
  });

  it('say who is busiest and who waits most, from far as well, as far as that is known', () => {
    const subtask = { index: 1, level: null, busy: 0.97, idle: 0, backpressured: 0.03, queued: 0, recordsInPerS: 1, recordsOutPerS: 1, stateBytes: null };
    const told = new Map([[0, { ...none.get(0)!, level: 'low' as const, busiest: subtask, worst: { ...subtask, backpressured: 0.2 } }]]);
    for (const near of [ALL, null]) {
      const [first, second] = nodesOf(graph, placed, told, near);
      expect(first!.ariaLabel).toBe('op 0, 2 subtasks, at most 97 % busy, at most 20 % back-pressured (low)');
      expect(second!.ariaLabel).toBe('op 1, 2 subtasks');
    }
  });

  it('are left out where the layout does not know them', () => {
    expect(nodesOf(graph, { ...placed, chains: new Map() }, none, ALL)).toEqual([]);
  });

  it('look the same from far as long as their colour and their name do, from near as long as their figures do', () => {
    const busy = { index: 0, level: null, busy: 0.5, idle: 0, backpressured: 0, queued: 0, recordsInPerS: 1, recordsOutPerS: 1, stateBytes: null };
    const told = (level: 'ok' | 'high', busiest = busy) => new Map([...none].map(([index, figures]) => [index, { ...figures, level, busiest }]));
    const far = (busiest: typeof busy): ReturnType<typeof nodesOf>[number] => nodesOf(graph, placed, told('ok', busiest), null)[0]!;
    expect(looksLike(far(busy), far({ ...busy, busy: 0.501 }))).toBe(true);
    expect(looksLike(far(busy), far({ ...busy, busy: 0.6 }))).toBe(false);
    const same = (near: boolean, one: 'ok' | 'high', other: 'ok' | 'high'): boolean =>
      looksLike(nodesOf(graph, placed, told(one), near ? ALL : null)[0]!, nodesOf(graph, placed, told(other), near ? ALL : null)[0]!);
    expect(same(false, 'ok', 'ok')).toBe(true);
    expect(same(false, 'ok', 'high')).toBe(false);
    expect(same(true, 'ok', 'ok')).toBe(false);
    const node = nodesOf(graph, placed, none, ALL)[0]!;
    expect(looksLike(node, nodesOf(graph, placed, none, ALL)[0]!)).toBe(true);
    expect(looksLike(node, nodesOf(graph, placed, none, null)[0]!)).toBe(false);
    expect(looksLike(node, nodesOf(graph, placed, none, ALL)[1]!)).toBe(false);
  });
});

describe('the part of the graph that is seen', () => {
  it('is all of it, in the middle, and no larger than can be read well', () => {
    const { x, zoom } = viewportOf(placed, { width: 1000, height: 400 });
    expect(zoom).toBeCloseTo(1.1);
    expect(x).toBeCloseTo((1000 - 1.1 * 500) / 2);
  });

  it('of a large graph is all of it, too small to be read', () => {
    const { zoom } = viewportOf({ ...placed, width: 7_600, height: 1_400 }, { width: 1_150, height: 500 });
    expect(zoom).toBeLessThan(NEAR_ZOOM);
    expect(7_600 * zoom).toBeLessThanOrEqual(1_150);
  });

  it('is never smaller than that something is seen at all', () => {
    expect(viewportOf({ ...placed, width: 1e6 }, { width: 1000, height: 400 }).zoom).toBe(ZOOM_MIN);
  });

  it('where nothing has a size is as it is', () => {
    expect(viewportOf(placed, { width: 0, height: 0 })).toEqual({ x: 0, y: 0, zoom: 1 });
  });
});

describe('the part of the graph that is seen once an operator is chosen', () => {
  const box = { x: 1_000, y: 100, width: 206, height: 100 };
  const room = { width: 800, height: 400 };

  it('is the same if the operator is in it', () => {
    const viewport = { x: -600, y: 0, zoom: 1 };
    expect(inSight(viewport, box, room)).toBe(viewport);
  });

  it.each([
    ['right', { x: 0, y: 0, zoom: 0.75 }, { x: 800 - 12 - 0.75 * 1_206, y: 0, zoom: 0.75 }],
    ['left', { x: -1_100, y: 0, zoom: 1 }, { x: 12 - 1_000, y: 0, zoom: 1 }],
    ['top', { x: -600, y: -300, zoom: 1 }, { x: -600, y: 12 - 100, zoom: 1 }],
    ['bottom, above what the graph is made larger with', { x: -600, y: 290, zoom: 1 }, { x: -600, y: 400 - 50 - 200, zoom: 1 }],
  ])('is moved only so far that it is in it, and as large as before: %s', (_, before, after) => {
    expect(inSight(before, box, room)).toEqual(after);
  });

  it('begins with the operator where there is not room for all of it', () => {
    expect(inSight({ x: 0, y: 0, zoom: 2 }, box, { width: 300, height: 100 })).toEqual({ x: 12 - 2_000, y: 12 - 200, zoom: 2 });
  });

  it('where nothing has a size is as it is', () => {
    const viewport = { x: 0, y: 0, zoom: 1 };
    expect(inSight(viewport, box, { width: 0, height: 0 })).toBe(viewport);
  });
});

describe('the part of it that can be read', () => {
  const large = { ...placed, width: 7_600, height: 1_400 };
  const room = { width: 1_000, height: 500 };

  it('is nowhere from far', () => {
    expect(readable(large, { x: 0, y: 0, zoom: NEAR_ZOOM - 0.01 }, room)).toBeNull();
    expect(nodesOf(graph, placed, none, null).every(({ data }) => !data.near)).toBe(true);
  });

  it('is what is seen and a little around it, so only some are drawn with all that is known of them', () => {
    const near = readable(large, { x: -2_000, y: -100, zoom: 1 }, room)!;
    expect(near.x).toBeLessThanOrEqual(2_000);
    expect(near.x + near.width).toBeGreaterThanOrEqual(3_000);
    expect(near.width).toBeLessThan(2_300);
    expect(nodesOf(graph, placed, none, near).every(({ data }) => !data.near)).toBe(true);
    expect(nodesOf(graph, placed, none, readable(large, { x: 0, y: 0, zoom: 1 }, room)).every(({ data }) => data.near)).toBe(true);
  });

  it('stays the same while it moves only a little', () => {
    const [one, other, far] = [-2_010, -2_040, -2_500].map((x) => readable(large, { x, y: 0, zoom: 1 }, room));
    expect(sameBox(one!, other!)).toBe(true);
    expect(sameBox(one!, far!)).toBe(false);
    expect(sameBox(one!, null)).toBe(false);
    expect(sameBox(null, null)).toBe(true);
  });

  it('is all of it where nothing has a size', () => {
    expect(readable(placed, { x: 0, y: 0, zoom: 1 }, { width: 0, height: 0 })).toEqual(ALL);
  });

  it('has in it what reaches into it, and not what only touches it', () => {
    expect(overlap(ALL, { x: 490, y: 100, width: 50, height: 50 })).toBe(true);
    expect(overlap(ALL, { x: 500, y: 0, width: 50, height: 50 })).toBe(false);
    expect(overlap(ALL, null)).toBe(false);
  });
});
