import { expect, it } from 'vitest';

import { layoutGraph, NODE_HEIGHT, NODE_WIDTH, type Drawing } from './graphLayout';

type Inputs = [operator: string, feedback?: boolean][];
const graph = (operators: Record<string, Inputs>): Record<string, unknown> => ({
  logical: { operators: Object.entries(operators).map(([uid, inputs]) => ({ uid, name: uid, kind: 'map', inputs: inputs.map(([operator, feedback = false]) => ({ operator, feedback })) })) },
  chains: [{ operators: Object.keys(operators), parallelism: 4 }],
});
const columns = ({ nodes }: Drawing): Record<string, number> => {
  const xs = [...new Set(nodes.map(({ x }) => x))].sort((a, b) => a - b);
  return Object.fromEntries(nodes.map(({ uid, x }) => [uid, xs.indexOf(x)]));
};

it('puts each operator to the right of its inputs', () => {
  expect(columns(layoutGraph(graph({ a: [], b: [], c: [['a']], d: [['c'], ['b']], e: [['d']] })))).toEqual({ a: 0, b: 0, c: 1, d: 2, e: 3 });
});

it('supports feedback edges and cycles', () => {
  expect(columns(layoutGraph(graph({ a: [], b: [['a'], ['c', true]], c: [['b']] })))).toEqual({ a: 0, b: 1, c: 2 });
  expect(layoutGraph(graph({ a: [['b']], b: [['a']] })).nodes).toHaveLength(2);
});

it('places operators without overlap inside the drawing', () => {
  const wide = graph({ a: [], b: [], c: [], d: [['a']], e: [['a']], f: [['a'], ['b']], g: [['c']], h: [['d'], ['e'], ['f'], ['g']] });
  const { nodes, width, height, links } = layoutGraph(wide);
  for (const one of nodes) {
    expect(one.x + NODE_WIDTH).toBeLessThanOrEqual(width);
    expect(one.y + NODE_HEIGHT).toBeLessThanOrEqual(height);
    for (const other of nodes) if (one !== other && one.x === other.x) expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(NODE_HEIGHT);
  }
  expect(links).toHaveLength(9);
  expect(nodes[0]!.parallelism).toBe(4);
});

it('returns an empty drawing for an empty graph', () => expect(layoutGraph({})).toMatchObject({ nodes: [], links: [] }));
