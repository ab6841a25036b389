import { expect, it } from 'vitest';

import { channelsOf, dealingOf, graphOf, nameOf } from './graph';

const told = {
  logical: { operators: [{ uid: 'a', name: 'flights', kind: 'source', site: 'job.py:3' }, { uid: 'b', name: '', kind: 'aggregate', stateful: true }] },
  chains: [{ index: 1, operators: ['b'], parallelism: 2 }, { index: 0, operators: ['a', 'gone'], parallelism: 3 }, { index: 'x' }, null],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: ['origin', 'dest'] }, { index: 1, source: 0, target: 9, partitioning: 'forward' }],
};

it('leaves out of a graph what is not as expected, and names what it does not know by its uid', () => {
  const { chains, edges } = graphOf(told);
  expect(chains.map(nameOf)).toEqual(['flights → gone', 'b']);
  expect(chains[1]!.operators[0]).toEqual({ uid: 'b', name: 'b', kind: 'aggregate', stateful: true, site: '' });
  expect(edges).toEqual([{ index: 0, source: 0, target: 1, partitioning: 'hash', key: ['origin', 'dest'], feedback: false }]);
  expect(graphOf({})).toEqual({ chains: [], edges: [] });
  expect(graphOf({ chains: 'many', edges: 7, logical: null })).toEqual({ chains: [], edges: [] });
});

it('says how records are dealt out, and over how many channels', () => {
  const graph = graphOf(told);
  const [edge] = graph.edges;
  expect(dealingOf(edge!)).toBe('hash origin, dest');
  expect(channelsOf(edge!, graph)).toBe(6);
  expect(channelsOf({ ...edge!, partitioning: 'forward' }, graph)).toBe(3);
});
