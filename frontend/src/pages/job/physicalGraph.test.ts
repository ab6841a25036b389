import { expect, it } from 'vitest';

import { channelCount, partitioningLabel, parseGraph, chainName } from './physicalGraph';

const json = {
  logical: { operators: [{ uid: 'a', name: 'flights', kind: 'source', site: 'job.py:3' }, { uid: 'b', name: '', kind: 'aggregate', stateful: true }] },
  chains: [{ index: 1, operators: ['b'], parallelism: 2 }, { index: 0, operators: ['a', 'unknown'], parallelism: 3 }, { index: 'x' }, null],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: ['origin', 'dest'] }, { index: 1, source: 0, target: 9, partitioning: 'forward' }],
};

it('invalid parts of a graph are dropped, and unknown operators are named by uid', () => {
  const { chains, edges } = parseGraph(json);
  expect(chains.map(({ operators, index }) => chainName(operators, index))).toEqual(['flights → unknown', 'b']);
  expect(chains[1]!.operators[0]).toEqual({ uid: 'b', name: 'b', kind: 'aggregate', stateful: true, site: '' });
  expect(edges).toEqual([{ index: 0, source: 0, target: 1, partitioning: 'hash', key: ['origin', 'dest'], feedback: false }]);
  expect(parseGraph({})).toEqual({ chains: [], edges: [] });
  expect(parseGraph({ chains: 'many', edges: 7, logical: null })).toEqual({ chains: [], edges: [] });
});

it('the label of an edge names its partitioning and key, and the channels of an edge are counted', () => {
  const graph = parseGraph(json);
  const [edge] = graph.edges;
  expect(partitioningLabel(edge!)).toBe('hash origin, dest');
  expect(channelCount(edge!, graph)).toBe(6);
  expect(channelCount({ ...edge!, partitioning: 'forward' }, graph)).toBe(3);
});
