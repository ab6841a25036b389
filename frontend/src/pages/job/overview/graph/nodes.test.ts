import { describe, expect, it } from 'vitest';

import { Installation } from '../../../../fake/installation';
import { bottleneckOf } from '../../../../fake/metrics';
import { chainMetrics } from './chainMetrics';
import type { PhysicalGraph } from '../../physicalGraph';
import type { GraphLayout } from './layout';
import { centreOn, panIntoView, isEqualNode, NEAR_ZOOM, flowNodes, intersects, visibleRegion, isEqualRect, fitViewport, showsWholeGraph, ZOOM_MIN } from './nodes';

const graph: PhysicalGraph = {
  chains: [0, 1].map((index) => ({ index, parallelism: 2, operators: [{ uid: `u${index}`, name: `op ${index}`, kind: 'map', stateful: false, site: '' }] })),
  edges: [],
};
const placed: GraphLayout = { width: 500, height: 120, chains: new Map([[0, { x: 12, y: 12, width: 206, height: 90 }], [1, { x: 280, y: 12, width: 206, height: 90 }]]), edges: new Map() };
const ALL = { x: 0, y: 0, width: 500, height: 120 };
const none = chainMetrics(graph, [], []);
const bottleneck = bottleneckOf(new Installation(1_800_000_000_000).jobs[1]!.template, 0)!;

describe('graph nodes', () => {
  it('a node has the position that the layout computed, and a label', () => {
    const [first] = flowNodes(graph, placed, none, ALL);
    expect(first).toMatchObject({ id: '0', position: { x: 12, y: 12 }, width: 206, ariaLabel: 'u0, 2 subtasks', data: { chain: graph.chains[0], near: true } });
  });

  it('the label of a node contains the highest busy share and pressure, and the bottleneck, even when the graph is zoomed out', () => {
    const subtask = { index: 1, level: null, busy: 0.97, idle: 0, backpressured: 0.03, queued: 0, pressure: 0.03, recordsInPerS: 1, recordsOutPerS: 1, stateBytes: null };
    const metricsWith = new Map([[0, { ...none.get(0)!, level: 'low' as const, busiest: subtask, worst: { ...subtask, pressure: 0.2 } }]]);
    const limited = new Map([[0, { ...metricsWith.get(0)!, bottleneck }]]);
    for (const near of [ALL, null]) {
      const [first, second] = flowNodes(graph, placed, metricsWith, near);
      expect(first!.ariaLabel).toBe('u0, 2 subtasks, up to 97 % busy, up to 20 % pressure (low)');
      expect(flowNodes(graph, placed, limited, near)[0]!.ariaLabel).toBe('u0, 2 subtasks, up to 97 % busy, up to 20 % pressure (low), bottleneck');
      expect(second!.ariaLabel).toBe('u1, 2 subtasks');
    }
  });

  it('a node is not drawn if the layout has no position for it', () => {
    expect(flowNodes(graph, { ...placed, chains: new Map() }, none, ALL)).toEqual([]);
  });

  it('zoomed-out nodes with the same level and label look the same; detailed nodes with the same metrics object look the same', () => {
    const busy = { index: 0, level: null, busy: 0.5, idle: 0, backpressured: 0, queued: 0, pressure: 0, recordsInPerS: 1, recordsOutPerS: 1, stateBytes: null };
    const metricsWith = (level: 'ok' | 'high', busiest = busy) => new Map([...none].map(([index, metrics]) => [index, { ...metrics, level, busiest }]));
    const far = (busiest: typeof busy): ReturnType<typeof flowNodes>[number] => flowNodes(graph, placed, metricsWith('ok', busiest), null)[0]!;
    expect(isEqualNode(far(busy), far({ ...busy, busy: 0.501 }))).toBe(true);
    expect(isEqualNode(far(busy), far({ ...busy, busy: 0.6 }))).toBe(false);
    const same = (near: boolean, one: 'ok' | 'high', other: 'ok' | 'high'): boolean =>
      isEqualNode(flowNodes(graph, placed, metricsWith(one), near ? ALL : null)[0]!, flowNodes(graph, placed, metricsWith(other), near ? ALL : null)[0]!);
    expect(same(false, 'ok', 'ok')).toBe(true);
    expect(same(false, 'ok', 'high')).toBe(false);
    expect(same(true, 'ok', 'ok')).toBe(false);
    const node = flowNodes(graph, placed, none, ALL)[0]!;
    expect(isEqualNode(node, flowNodes(graph, placed, none, ALL)[0]!)).toBe(true);
    expect(isEqualNode(node, flowNodes(graph, placed, none, null)[0]!)).toBe(false);
    expect(isEqualNode(node, flowNodes(graph, placed, none, ALL)[1]!)).toBe(false);
  });
});

describe('the initial viewport', () => {
  it('shows the centred graph at a readable zoom', () => {
    const { x, zoom } = fitViewport(placed, { width: 1000, height: 400 });
    expect(zoom).toBeCloseTo(1.1);
    expect(x).toBeCloseTo((1000 - 1.1 * 500) / 2);
  });

  it('shows a large graph completely, even if its text is too small to read', () => {
    const { zoom } = fitViewport({ ...placed, width: 7_600, height: 1_400 }, { width: 1_150, height: 500 });
    expect(zoom).toBeLessThan(NEAR_ZOOM);
    expect(7_600 * zoom).toBeLessThanOrEqual(1_150);
  });

  it('the initial zoom is not below the minimum zoom', () => {
    expect(fitViewport({ ...placed, width: 1e6 }, { width: 1000, height: 400 }).zoom).toBe(ZOOM_MIN);
  });

  it('the initial viewport is neither moved nor zoomed if the container has no size', () => {
    expect(fitViewport(placed, { width: 0, height: 0 })).toEqual({ x: 0, y: 0, zoom: 1 });
  });
});

describe('the viewport after a selection', () => {
  const box = { x: 1_000, y: 100, width: 206, height: 100 };
  const room = { width: 800, height: 400 };

  it('the viewport does not change if the selected chain is visible', () => {
    const viewport = { x: -600, y: 0, zoom: 1 };
    expect(panIntoView(viewport, box, room)).toBe(viewport);
  });

  it.each([
    ['right', { x: 0, y: 0, zoom: 0.75 }, { x: 800 - 12 - 0.75 * 1_206, y: 0, zoom: 0.75 }],
    ['left', { x: -1_100, y: 0, zoom: 1 }, { x: 12 - 1_000, y: 0, zoom: 1 }],
    ['top', { x: -600, y: -300, zoom: 1 }, { x: -600, y: 12 - 100, zoom: 1 }],
    ['bottom, above the zoom controls', { x: -600, y: 290, zoom: 1 }, { x: -600, y: 400 - 50 - 200, zoom: 1 }],
  ])('pans only as far as needed to show the chain, with the same zoom: %s', (_, before, after) => {
    expect(panIntoView(before, box, room)).toEqual(after);
  });

  it('shows the start of the chain if the chain is larger than the container', () => {
    expect(panIntoView({ x: 0, y: 0, zoom: 2 }, box, { width: 300, height: 100 })).toEqual({ x: 12 - 2_000, y: 12 - 200, zoom: 2 });
  });

  it('the viewport does not change if the container has no size', () => {
    const viewport = { x: 0, y: 0, zoom: 1 };
    expect(panIntoView(viewport, box, { width: 0, height: 0 })).toBe(viewport);
  });
});

describe('the viewport after a search', () => {
  const box = { x: 1_000, y: 100, width: 200, height: 100 };

  it('shows the chain in the centre, and zooms in only if its text would be hard to read', () => {
    expect(centreOn({ x: 0, y: 0, zoom: 1 }, box, { width: 800, height: 400 })).toEqual({ x: 400 - 1_100, y: 200 - 150, zoom: 1 });
    expect(centreOn({ x: 0, y: 0, zoom: 0.2 }, box, { width: 800, height: 400 })).toEqual({ x: 400 - 0.8 * 1_100, y: 200 - 0.8 * 150, zoom: 0.8 });
  });

  it('does not change if the container has no size', () => {
    const viewport = { x: -5, y: 0, zoom: 1 };
    expect(centreOn(viewport, box, { width: 0, height: 0 })).toBe(viewport);
  });
});

describe('the minimap', () => {
  it('is needed if a part of the graph is outside the container', () => {
    const room = { width: 600, height: 200 };
    expect(showsWholeGraph(placed, fitViewport(placed, room), room)).toBe(true);
    expect(showsWholeGraph(placed, { x: 0, y: 0, zoom: 1.3 }, room)).toBe(false);
    expect(showsWholeGraph(placed, { x: -20, y: 0, zoom: 1 }, room)).toBe(false);
    expect(showsWholeGraph(placed, { x: 0, y: 90, zoom: 1 }, room)).toBe(false);
    expect(showsWholeGraph(placed, { x: 0, y: 0, zoom: 1 }, { width: 0, height: 0 })).toBe(true);
  });
});

describe('the visible region', () => {
  const large = { ...placed, width: 7_600, height: 1_400 };
  const room = { width: 1_000, height: 500 };

  it('the visible region is null when the graph is zoomed out', () => {
    expect(visibleRegion(large, { x: 0, y: 0, zoom: NEAR_ZOOM - 0.01 }, room)).toBeNull();
    expect(flowNodes(graph, placed, none, null).every(({ data }) => !data.near)).toBe(true);
  });

  it('the visible region includes a margin, and only nodes in the region are drawn in detail', () => {
    const near = visibleRegion(large, { x: -2_000, y: -100, zoom: 1 }, room)!;
    expect(near.x).toBeLessThanOrEqual(2_000);
    expect(near.x + near.width).toBeGreaterThanOrEqual(3_000);
    expect(near.width).toBeLessThan(2_300);
    expect(flowNodes(graph, placed, none, near).every(({ data }) => !data.near)).toBe(true);
    expect(flowNodes(graph, placed, none, visibleRegion(large, { x: 0, y: 0, zoom: 1 }, room)).every(({ data }) => data.near)).toBe(true);
  });

  it('the visible region does not change for small moves of the viewport', () => {
    const [one, other, far] = [-2_010, -2_040, -2_500].map((x) => visibleRegion(large, { x, y: 0, zoom: 1 }, room));
    expect(isEqualRect(one!, other!)).toBe(true);
    expect(isEqualRect(one!, far!)).toBe(false);
    expect(isEqualRect(one!, null)).toBe(false);
    expect(isEqualRect(null, null)).toBe(true);
  });

  it('the visible region is the whole graph if the container has no size', () => {
    expect(visibleRegion(placed, { x: 0, y: 0, zoom: 1 }, { width: 0, height: 0 })).toEqual(ALL);
  });

  it('a region intersects rectangles that overlap it, but not rectangles that are only adjacent to it', () => {
    expect(intersects(ALL, { x: 490, y: 100, width: 50, height: 50 })).toBe(true);
    expect(intersects(ALL, { x: 500, y: 0, width: 50, height: 50 })).toBe(false);
    expect(intersects(ALL, null)).toBe(false);
  });
});
