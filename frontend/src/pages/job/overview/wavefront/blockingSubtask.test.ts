import { describe, expect, it } from 'vitest';

import { blockerText, type Blocker } from './blockingSubtask';
import { buildTopology } from './topology';

const operator = (name: string, stateful = false) => ({ uid: name, name, kind: '', stateful, site: '' });
const graph = {
  chains: [{ index: 0, operators: [operator('flights'), operator('parse')], parallelism: 2 }, { index: 1, operators: [operator('counts', true)], parallelism: 2 },
    { index: 2, operators: [operator('prices')], parallelism: 2 }],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: [], feedback: false }],
};
const topology = buildTopology(graph);

describe('the text about the subtask that a checkpoint waits for', () => {
  it.each<[Blocker, boolean, string]>([
    [{ kind: 'unknown' }, false, 'no subtask has acknowledged yet'],
    [{ kind: 'aligning', subtask: 1, inputs: [], awaiting: 0, forMs: 1_200 }, false, 'source flights → parse [1] has not acknowledged for 1.2 s'],
    [{ kind: 'aligning', subtask: 1, inputs: [], awaiting: 4, forMs: 1_200 }, false, 'source flights → parse [1] has not acknowledged for 1.2 s; 4 subtasks are waiting for its barrier'],
    [{ kind: 'aligning', subtask: 1, inputs: [], awaiting: 1, forMs: 31 }, true, 'source flights → parse [1] has not sent its barrier for 31 ms; 1 subtask is waiting for its barrier'],
    [{ kind: 'aligning', subtask: 3, inputs: [0, 1], awaiting: 0, forMs: 7_000 }, true, 'counts [1] has been aligning for 7.0 s, because barriers from flights → parse are queued behind records (2 channels)'],
    [{ kind: 'aligning', subtask: 3, inputs: [0, 1], awaiting: 0, forMs: 7_000 }, false, 'counts [1] has been aligning for 7.0 s, because barriers from flights → parse are queued behind records (2 channels), or the subtask is writing its state'],
    [{ kind: 'aligning', subtask: 4, inputs: [2, 3], awaiting: 2, forMs: 7_000 }, false, 'prices [0] has been aligning for 7.0 s, because barriers from counts are queued behind records (2 channels); 2 subtasks are waiting for its barrier'],
    [{ kind: 'aligning', subtask: 5, inputs: [0, 1, 2], awaiting: 0, forMs: 7_000 }, false, 'prices [1] has been aligning for 7.0 s, because barriers from flights → parse and counts are queued behind records (3 channels)'],
    [{ kind: 'aligning', subtask: 4, inputs: [3], awaiting: 0, forMs: 31 }, false, 'prices [0] has been waiting for 31 ms, because the barrier from counts [1] is queued behind records'],
    [{ kind: 'snapshotting', subtask: 2, others: 0, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms'],
    [{ kind: 'snapshotting', subtask: 2, others: 4, forMs: 31 }, true, 'counts [0] has been writing its state for 31 ms; 4 other subtasks are also writing'],
    [{ kind: 'completing', forMs: 3 }, true, 'all subtasks have acknowledged, and the coordinator has been writing the log entry for 3 ms'],
    [{ kind: 'completing', forMs: 0 }, true, 'all subtasks have acknowledged, and the coordinator is writing the log entry'],
  ])('%o', (blocker, exact, text) => {
    expect(blockerText(blocker, graph, topology, exact)).toBe(text);
  });
});
