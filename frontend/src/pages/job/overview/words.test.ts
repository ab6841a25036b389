import { describe, expect, it } from 'vitest';

import type { Holder } from './holder';
import { topologyOf } from './topology';
import { holderSentence } from './words';

const operator = (name: string) => ({ uid: name, name, kind: '', stateful: false, site: '' });
const graph = {
  chains: [{ index: 0, operators: [operator('flights'), operator('parse')], parallelism: 2 }, { index: 1, operators: [operator('counts')], parallelism: 2 }],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: [], feedback: false }],
};
const topology = topologyOf(graph);

describe('who holds a checkpoint', () => {
  it.each<[Holder, boolean, string]>([
    [{ is: 'unknown', forMs: 40 }, false, 'nobody has acknowledged yet, for 40 ms'],
    [{ is: 'passing', subtask: 1, from: null, forMs: 1_200 }, false, 'nothing is heard of the source flights → parse [1] for 1.2 s'],
    [{ is: 'passing', subtask: 1, from: null, forMs: 31 }, true, 'the source flights → parse [1] has not let the barrier go for 31 ms'],
    [{ is: 'passing', subtask: 3, from: 0, forMs: 31 }, true, 'counts [1] holds it for 31 ms: its last barrier comes from flights → parse [0]'],
    [{ is: 'writing', subtask: 2, others: 0, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms'],
    [{ is: 'writing', subtask: 2, others: 4, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms, and 4 more are at it'],
    [{ is: 'closing', forMs: 3 }, true, 'all have acknowledged; its entry is being written, for 3 ms'],
  ])('%o', (holder, exact, sentence) => {
    expect(holderSentence(holder, graph, topology, exact)).toBe(sentence);
  });
});
