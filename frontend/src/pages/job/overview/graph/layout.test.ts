import { describe, expect, it } from 'vitest';

import { JOB_TEMPLATES } from '../../../../fake/jobTemplates';
import { computeLayout } from './elk';
import { parseGraph } from '../../physicalGraph';
import { cellPath, cellGrid, toElkGraph, zoomedOutCellGrid, nodeHeight, NODE_WIDTH, roundedPath, fromElkGraph, type Rect } from './layout';

const graph = parseGraph(JOB_TEMPLATES[0]!.graph as unknown as Record<string, unknown>);

function disjoint(a: Rect, b: Rect): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}

describe('the layout of a graph', () => {
  it('places each chain once, without overlaps, to the right of its inputs', async () => {
    const layout = await computeLayout(graph);
    expect([...layout.chains.keys()].sort((a, b) => a - b)).toEqual(graph.chains.map(({ index }) => index));
    const rects = [...layout.chains.values()];
    rects.forEach((one, at) => rects.slice(at + 1).forEach((other) => expect(disjoint(one, other)).toBe(true)));
    for (const { source, target } of graph.edges) {
      const from = layout.chains.get(source)!;
      expect(layout.chains.get(target)!.x).toBeGreaterThan(from.x + from.width);
    }
  });

  it('places edge labels outside of the chains', async () => {
    const layout = await computeLayout(graph);
    expect(layout.edges.size).toBe(graph.edges.length);
    for (const { path, label } of layout.edges.values()) {
      expect(path).toMatch(/^M[\d.]+ [\d.]+L/);
      for (const rect of layout.chains.values()) expect(disjoint(label!, rect)).toBe(true);
    }
  });

  it('equal graphs have equal layouts', async () => {
    expect(await computeLayout(graph)).toEqual(await computeLayout(graph));
  });

  it('the layout contains a path for a feedback edge', async () => {
    const loop = { ...graph, edges: [...graph.edges, { ...graph.edges[0]!, index: 99, source: graph.chains.at(-1)!.index, target: 0, feedback: true }] };
    expect((await computeLayout(loop)).edges.get(99)!.path).toMatch(/^M/);
  });

  it('reserves enough space for the content of each node', () => {
    const { children = [], edges = [] } = toElkGraph(graph);
    expect(children.map(({ width }) => width)).toEqual(graph.chains.map(() => NODE_WIDTH));
    expect(children.map(({ height }) => height)).toEqual(graph.chains.map(nodeHeight));
    expect(edges[0]!.labels![0]!.text).toBe('hash origin');
  });

  it('accepts an empty result of the layout library', () => {
    expect(fromElkGraph({ id: 'graph' })).toEqual({ width: 0, height: 0, chains: new Map(), edges: new Map() });
  });
});

describe('an edge path', () => {
  it('the corners of an edge path are round, and their radius is smaller if the points are close together', () => {
    expect(roundedPath([{ x: 0, y: 0 }, { x: 100, y: 0 }, { x: 100, y: 6 }], 8)).toBe('M0 0L97 0Q100 0 100 3L100 6');
  });

  it('an edge path between two points is a straight line, and a path with equal points contains no NaN', () => {
    expect(roundedPath([{ x: 1, y: 2 }, { x: 3, y: 4 }])).toBe('M1 2L3 4');
    expect(roundedPath([{ x: 1, y: 2 }, { x: 1, y: 2 }, { x: 3, y: 4 }])).not.toContain('NaN');
  });
});

describe('subtask cells', () => {
  it.each([1, 8, 11, 44, 64, 200])('the cells of %d subtasks fit into their node', (parallelism) => {
    const { columns, rows, step } = cellGrid(parallelism);
    expect(columns * step).toBeLessThanOrEqual(NODE_WIDTH - 16);
    expect(columns * rows).toBeGreaterThanOrEqual(parallelism);
    expect(nodeHeight({ index: 0, operators: [], parallelism })).toBeGreaterThan(rows * step);
  });

  it('cells are smaller if a chain has more subtasks', () => {
    expect(cellGrid(8).size).toBeGreaterThan(cellGrid(100).size);
  });

  it.each([1, 2, 8, 44, 200, 1000])('the cells of %d subtasks fill the node when the graph is zoomed out', (parallelism) => {
    const height = nodeHeight({ index: 0, operators: [], parallelism });
    const { columns, rows, step } = zoomedOutCellGrid(parallelism, height);
    expect(columns * rows).toBeGreaterThanOrEqual(parallelism);
    expect(columns * step).toBeLessThanOrEqual(NODE_WIDTH - 16);
    expect(rows * step).toBeLessThanOrEqual(height - 16);
    expect(step).toBeGreaterThanOrEqual(cellGrid(parallelism).step);
  });

  it('cells are filled from the bottom up', () => {
    expect(cellPath({ size: 10, step: 12, columns: 2, rows: 2 }, 3, (at) => at !== 1, 0.5)).toBe('M0 5h10v5h-10zM0 17h10v5h-10z');
  });
});
