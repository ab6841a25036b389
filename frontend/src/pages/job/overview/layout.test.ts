import { describe, expect, it } from 'vitest';

import { SCENES } from '../../../fake/scenes';
import { layOut } from './elk';
import { graphOf } from './graph';
import { cellPath, cellsOf, elkOf, farCellsOf, heightOf, NODE_WIDTH, pathOf, placedOf, type Box } from './layout';

const graph = graphOf(SCENES[0]!.graph as unknown as Record<string, unknown>);

function apart(a: Box, b: Box): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}

describe('the layout of a graph', () => {
  it('places every chain once, none over another, each behind those that send to it', async () => {
    const placed = await layOut(graph);
    expect([...placed.chains.keys()].sort((a, b) => a - b)).toEqual(graph.chains.map(({ index }) => index));
    const boxes = [...placed.chains.values()];
    boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => expect(apart(one, other)).toBe(true)));
    for (const { source, target } of graph.edges) {
      const from = placed.chains.get(source)!;
      expect(placed.chains.get(target)!.x).toBeGreaterThan(from.x + from.width);
    }
  });

  it('keeps labels of edges off the chains', async () => {
    const placed = await layOut(graph);
    expect(placed.edges.size).toBe(graph.edges.length);
    for (const { path, label } of placed.edges.values()) {
      expect(path).toMatch(/^M[\d.]+ [\d.]+L/);
      for (const box of placed.chains.values()) expect(apart(label!, box)).toBe(true);
    }
  });

  it('is the same for the same graph', async () => {
    expect(await layOut(graph)).toEqual(await layOut(graph));
  });

  it('draws a loop that feeds back', async () => {
    const loop = { ...graph, edges: [...graph.edges, { ...graph.edges[0]!, index: 99, source: graph.chains.at(-1)!.index, target: 0, feedback: true }] };
    expect((await layOut(loop)).edges.get(99)!.path).toMatch(/^M/);
  });

  it('asks for room for what a chain shows', () => {
    const { children = [], edges = [] } = elkOf(graph);
    expect(children.map(({ width }) => width)).toEqual(graph.chains.map(() => NODE_WIDTH));
    expect(children.map(({ height }) => height)).toEqual(graph.chains.map(heightOf));
    expect(edges[0]!.labels![0]!.text).toBe('hash origin');
  });

  it('takes an empty answer', () => {
    expect(placedOf({ id: 'graph' })).toEqual({ width: 0, height: 0, chains: new Map(), edges: new Map() });
  });
});

describe('a line', () => {
  it('is rounded at its corners as far as there is room', () => {
    expect(pathOf([{ x: 0, y: 0 }, { x: 100, y: 0 }, { x: 100, y: 6 }], 8)).toBe('M0 0L97 0Q100 0 100 3L100 6');
  });

  it('of two points is straight, of the same point twice it does not break', () => {
    expect(pathOf([{ x: 1, y: 2 }, { x: 3, y: 4 }])).toBe('M1 2L3 4');
    expect(pathOf([{ x: 1, y: 2 }, { x: 1, y: 2 }, { x: 3, y: 4 }])).not.toContain('NaN');
  });
});

describe('cells of subtasks', () => {
  it.each([1, 8, 11, 44, 64, 200])('of %d subtasks stay inside of their chain', (parallelism) => {
    const { columns, rows, step } = cellsOf(parallelism);
    expect(columns * step).toBeLessThanOrEqual(NODE_WIDTH - 16);
    expect(columns * rows).toBeGreaterThanOrEqual(parallelism);
    expect(heightOf({ index: 0, operators: [], parallelism })).toBeGreaterThan(rows * step);
  });

  it('are smaller where there are many', () => {
    expect(cellsOf(8).size).toBeGreaterThan(cellsOf(100).size);
  });

  it.each([1, 2, 8, 44, 200, 1000])('of %d subtasks fill the whole chain where nothing else of it can be read', (parallelism) => {
    const height = heightOf({ index: 0, operators: [], parallelism });
    const { columns, rows, step } = farCellsOf(parallelism, height);
    expect(columns * rows).toBeGreaterThanOrEqual(parallelism);
    expect(columns * step).toBeLessThanOrEqual(NODE_WIDTH - 16);
    expect(rows * step).toBeLessThanOrEqual(height - 16);
    expect(step).toBeGreaterThanOrEqual(cellsOf(parallelism).step);
  });

  it('are filled from below', () => {
    expect(cellPath({ size: 10, step: 12, columns: 2, rows: 2 }, 3, (at) => at !== 1, 0.5)).toBe('M0 5h10v5h-10zM0 17h10v5h-10z');
  });
});
