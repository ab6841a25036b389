/** Builds the flame graph and the table of functions from a profile. All functions are pure. */
import type { Schemas } from '../../../api/types';

export type Profile = Schemas['ProfileRead'];
type Thread = Profile['threads'][number];

/** A function in one place of the call tree. `total` counts the samples of this function and of the functions that it called. */
export interface FlameNode {
  id: number;
  name: string;
  file: string;
  /** The most frequent line of the function, or 0 if it is unknown. */
  line: number;
  total: number;
  /** The samples in which this function was the innermost one. */
  self: number;
  parent: FlameNode | null;
  children: FlameNode[];
}

/** A box of the flame graph. `left` and `width` are shares, from 0 to 1, of the width of the graph. */
export interface FlameBox {
  node: FlameNode;
  depth: number;
  left: number;
  width: number;
}

/** A row of the table of functions. `total` counts a recursive function once for each stack. */
export interface FunctionRow {
  key: string;
  name: string;
  file: string;
  line: number;
  self: number;
  total: number;
}

/** Narrower boxes are not drawn. */
export const WIDTH_MIN = 0.002;

const keyOf = ({ function: name, file }: Profile['frames'][number]): string => `${name}\n${file}`;

/** Return the call tree of a thread. The lines of a function are merged. The root represents the thread. */
export function flameTree({ frames }: Profile, thread: Thread): FlameNode {
  let ids = 0;
  const node = (name: string, file: string, parent: FlameNode | null): FlameNode => ({ id: (ids += 1), name, file, line: 0, total: 0, self: 0, parent, children: [] });
  const root = node(thread.name, '', null);
  const children = new Map<FlameNode, Map<string, FlameNode>>();
  const lines = new Map<FlameNode, Map<number, number>>();
  for (const { frames: stack, samples } of thread.stacks) {
    let current = root;
    root.total += samples;
    for (const index of stack) {
      const frame = frames[index];
      if (frame === undefined) continue;
      const known = getOrAdd(children, current, () => new Map<string, FlameNode>());
      const parent = current;
      current = getOrAdd(known, keyOf(frame), () => {
        const child = node(frame.function, frame.file, parent);
        parent.children.push(child);
        return child;
      });
      current.total += samples;
      const counts = getOrAdd(lines, current, () => new Map<number, number>());
      counts.set(frame.line, (counts.get(frame.line) ?? 0) + samples);
    }
    current.self += samples;
  }
  for (const [one, counts] of lines) one.line = mostFrequent(counts);
  for (const one of [root, ...lines.keys()]) one.children.sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
  return root;
}

/** Return the boxes of the flame graph in the order of a depth-first traversal. `zoomed` and its callers have the full width. */
export function flameBoxes(zoomed: FlameNode): FlameBox[] {
  const callers: FlameNode[] = [];
  for (let one = zoomed.parent; one !== null; one = one.parent) callers.unshift(one);
  const boxes: FlameBox[] = callers.map((node, depth) => ({ node, depth, left: 0, width: 1 }));
  const add = (node: FlameNode, depth: number, left: number): void => {
    const width = node.total / zoomed.total;
    if (width < WIDTH_MIN) return;
    boxes.push({ node, depth, left, width });
    let at = left;
    for (const child of node.children) {
      add(child, depth + 1, at);
      at += child.total / zoomed.total;
    }
  };
  if (zoomed.total > 0) add(zoomed, callers.length, 0);
  return boxes;
}

/** Return the functions of a thread, those with the most samples of their own first. */
export function functionRows({ frames }: Profile, thread: Thread): FunctionRow[] {
  const rows = new Map<string, FunctionRow>();
  const lines = new Map<string, Map<number, number>>();
  for (const { frames: stack, samples } of thread.stacks) {
    const counted = new Set<string>();
    stack.forEach((index, at) => {
      const frame = frames[index];
      if (frame === undefined) return;
      const key = keyOf(frame);
      const row = getOrAdd(rows, key, () => ({ key, name: frame.function, file: frame.file, line: 0, self: 0, total: 0 }));
      const counts = getOrAdd(lines, key, () => new Map<number, number>());
      counts.set(frame.line, (counts.get(frame.line) ?? 0) + samples);
      if (!counted.has(key)) row.total += samples;
      counted.add(key);
      if (at === stack.length - 1) row.self += samples;
    });
  }
  for (const [key, counts] of lines) rows.get(key)!.line = mostFrequent(counts);
  return [...rows.values()].sort((a, b) => b.self - a.self || b.total - a.total || a.name.localeCompare(b.name));
}

/** Return a source location, such as `flights.py:12`, or an empty text if it is unknown. */
export const site = ({ file, line }: { file: string; line: number }): string => (file === '' || line === 0 ? file : `${file}:${line}`);

/** Return whether a function belongs to Weir, and not to the job or to a library. */
export const isOfWeir = ({ file }: { file: string }): boolean => file.startsWith('weir/');

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const created = create();
  map.set(key, created);
  return created;
}

function mostFrequent(counts: ReadonlyMap<number, number>): number {
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}
