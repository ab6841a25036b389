import { describe, expect, it } from 'vitest';

import type { Holder } from './holder';
import { topologyOf } from './topology';
import { holderSentence } from './words';

const operator = (name: string, stateful = false) => ({ uid: name, name, kind: '', stateful, site: '' });
const graph = {
  chains: [{ index: 0, operators: [operator('flights'), operator('parse')], parallelism: 2 }, { index: 1, operators: [operator('counts', true)], parallelism: 2 },
    { index: 2, operators: [operator('prices')], parallelism: 2 }],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: [], feedback: false }],
};
const topology = topologyOf(graph);

describe('who holds a checkpoint', () => {
  it.each<[Holder, boolean, string]>([
    [{ is: 'unknown' }, false, 'nobody has acknowledged yet'],
    [{ is: 'passing', subtask: 1, inputs: [], awaiting: 0, forMs: 1_200 }, false, 'nothing is heard of the source flights → parse [1] for 1.2 s'],
    [{ is: 'passing', subtask: 1, inputs: [], awaiting: 4, forMs: 1_200 }, false, 'nothing is heard of the source flights → parse [1] for 1.2 s: 4 subtasks wait for its barrier'],
    [{ is: 'passing', subtask: 1, inputs: [], awaiting: 1, forMs: 31 }, true, 'the source flights → parse [1] has not let the barrier go for 31 ms: 1 subtask waits for its barrier'],
    [{ is: 'passing', subtask: 3, inputs: [0, 1], awaiting: 0, forMs: 7_000 }, true, 'counts [1] has been aligning for 7.0 s: barriers of flights → parse are queued behind records (2 channels)'],
    [{ is: 'passing', subtask: 3, inputs: [0, 1], awaiting: 0, forMs: 7_000 }, false, 'counts [1] has been aligning for 7.0 s: barriers of flights → parse are queued behind records (2 channels), or it writes its state'],
    [{ is: 'passing', subtask: 4, inputs: [2, 3], awaiting: 2, forMs: 7_000 }, false, 'prices [0] has been aligning for 7.0 s: barriers of counts are queued behind records (2 channels); 2 subtasks wait for its barrier'],
    [{ is: 'passing', subtask: 5, inputs: [0, 1, 2], awaiting: 0, forMs: 7_000 }, false, 'prices [1] has been aligning for 7.0 s: barriers of flights → parse and counts are queued behind records (3 channels)'],
    [{ is: 'passing', subtask: 4, inputs: [3], awaiting: 0, forMs: 31 }, false, 'prices [0] has been waiting for 31 ms: the barrier of counts [1] is queued behind records'],
    [{ is: 'writing', subtask: 2, others: 0, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms'],
    [{ is: 'writing', subtask: 2, others: 4, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms, and 4 more are at it'],
    [{ is: 'closing', forMs: 3 }, true, 'all have acknowledged; its entry is being written, for 3 ms'],
    [{ is: 'closing', forMs: 0 }, true, 'all have acknowledged; its entry is being written'],
  ])('%o', (holder, exact, sentence) => {
    expect(holderSentence(holder, graph, topology, exact)).toBe(sentence);
  });
});
