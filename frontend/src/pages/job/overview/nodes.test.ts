import { describe, expect, it } from 'vitest';

import { figuresOf } from './figures';
import type { PhysicalGraph } from './graph';
import type { Placed } from './layout';
import { looksLike, NEAR_ZOOM, nodesOf, viewportOf, ZOOM_MIN } from './nodes';

const graph: PhysicalGraph = {
  chains: [0, 1].map((index) => ({ index, parallelism: 2, operators: [{ uid: `u${index}`, name: `op ${index}`, kind: 'map', stateful: false, site: '' }] })),
  edges: [],
};
const placed: Placed = { width: 500, height: 120, chains: new Map([[0, { x: 12, y: 12, width: 206, height: 90 }], [1, { x: 280, y: 12, width: 206, height: 90 }]]), edges: new Map() };
const none = figuresOf(graph, [], []);

describe('nodes of the graph', () => {
  it('stand where the layout has put them, and say what they are', () => {
    const [first] = nodesOf(graph, placed, none, true);
    expect(first).toMatchObject({ id: '0', position: { x: 12, y: 12 }, width: 206, ariaLabel: 'op 0, 2 subtasks', data: { chain: graph.chains[0], near: true } });
  });

  it('are left out where the layout does not know them', () => {
    expect(nodesOf(graph, { ...placed, chains: new Map() }, none, true)).toEqual([]);
  });

  it('look the same from far as long as their colour does, from near as long as their figures do', () => {
    const told = (level: 'ok' | 'high') => new Map([...none].map(([index, figures]) => [index, { ...figures, level }]));
    const same = (near: boolean, one: 'ok' | 'high', other: 'ok' | 'high'): boolean =>
      looksLike(nodesOf(graph, placed, told(one), near)[0]!, nodesOf(graph, placed, told(other), near)[0]!);
    expect(same(false, 'ok', 'ok')).toBe(true);
    expect(same(false, 'ok', 'high')).toBe(false);
    expect(same(true, 'ok', 'ok')).toBe(false);
    const node = nodesOf(graph, placed, none, true)[0]!;
    expect(looksLike(node, nodesOf(graph, placed, none, true)[0]!)).toBe(true);
    expect(looksLike(node, nodesOf(graph, placed, none, false)[0]!)).toBe(false);
    expect(looksLike(node, nodesOf(graph, placed, none, true)[1]!)).toBe(false);
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
