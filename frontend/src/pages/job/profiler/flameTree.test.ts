import { describe, expect, it } from 'vitest';

import { flameBoxes, flameTree, functionRows, isOfWeir, site, WIDTH_MIN, type FlameNode, type Profile } from './flameTree';

const frame = (name: string, file: string, line: number): Profile['frames'][number] => ({ function: name, file, line });
const PROFILE: Profile = {
  duration_ms: 1_000, interval_ms: 10, samples: 100, dropped_samples: 0,
  frames: [frame('run', 'weir/process.py', 9), frame('parse', 'flights.py', 3), frame('parse', 'flights.py', 4), frame('clean', 'flights.py', 8), frame('poll', 'selectors.py', 1)],
  threads: [{ name: 'weir-loop', cpu_ms: 900, stacks: [{ frames: [0, 1], samples: 40 }, { frames: [0, 2, 3], samples: 30 }, { frames: [0, 2], samples: 10 }, { frames: [0, 4], samples: 20 }] }],
};
const [THREAD] = PROFILE.threads as [Profile['threads'][number]];
const brief = ({ name, total, self, line }: FlameNode): [string, number, number, number] => [name, total, self, line];

describe('the call tree of a thread', () => {
  it('merges the lines of a function, and sorts the functions by their samples', () => {
    const root = flameTree(PROFILE, THREAD);
    expect(brief(root)).toEqual(['weir-loop', 100, 0, 0]);
    const [run] = root.children as [FlameNode];
    expect(run.children.map(brief)).toEqual([['parse', 80, 50, 3], ['poll', 20, 20, 1]]);
    expect(run.children[0]!.children.map(brief)).toEqual([['clean', 30, 30, 8]]);
  });

  it('has no functions if the thread has no stacks', () => {
    const root = flameTree(PROFILE, { ...THREAD, stacks: [] });
    expect(root.children).toEqual([]);
    expect(flameBoxes(root)).toEqual([]);
  });
});

describe('the boxes of the flame graph', () => {
  it('are as wide as the shares of the functions', () => {
    const boxes = flameBoxes(flameTree(PROFILE, THREAD));
    expect(boxes.map(({ node, depth, left, width }) => [node.name, depth, left, width])).toEqual([['weir-loop', 0, 0, 1], ['run', 1, 0, 1], ['parse', 2, 0, 0.8], ['clean', 3, 0, 0.3], ['poll', 2, 0.8, 0.2]]);
  });

  it('show the zoomed function and its callers at the full width', () => {
    const parse = flameTree(PROFILE, THREAD).children[0]!.children[0]!;
    expect(flameBoxes(parse).map(({ node, width }) => [node.name, width])).toEqual([['weir-loop', 1], ['run', 1], ['parse', 1], ['clean', 30 / 80]]);
  });

  it('leave out functions with very few samples', () => {
    const stacks = [{ frames: [0, 1], samples: 1 / WIDTH_MIN }, { frames: [0, 4], samples: 0.5 }];
    expect(flameBoxes(flameTree(PROFILE, { ...THREAD, stacks })).map(({ node }) => node.name)).toEqual(['weir-loop', 'run', 'parse']);
  });
});

describe('the table of functions', () => {
  it('lists the functions with the most samples of their own first', () => {
    expect(functionRows(PROFILE, THREAD).map(({ name, self, total }) => [name, self, total])).toEqual([['parse', 50, 80], ['clean', 30, 30], ['poll', 20, 20], ['run', 0, 100]]);
  });

  it('counts a recursive function once for each stack', () => {
    const [row] = functionRows(PROFILE, { ...THREAD, stacks: [{ frames: [1, 1, 2], samples: 5 }] });
    expect(row).toMatchObject({ name: 'parse', self: 5, total: 5 });
  });
});

it('a source location contains the line if it is known', () => {
  expect(site({ file: 'flights.py', line: 3 })).toBe('flights.py:3');
  expect(site({ file: '', line: 0 })).toBe('');
});

it('only files of the package weir belong to Weir', () => {
  expect([isOfWeir({ file: 'weir/subtask/slot.py' }), isOfWeir({ file: 'weird.py' })]).toEqual([true, false]);
});
