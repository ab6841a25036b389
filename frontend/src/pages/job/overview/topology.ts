/** Who sends barriers to whom: subtasks of a graph numbered from 0 on, chain after chain. Feedback edges carry none that anybody waits for. */
import type { PhysicalGraph } from './graph';

interface Link {
  /** Position of the other chain in `chains`. */
  chain: number;
  /** Subtask i to subtask i; otherwise each to each. */
  forward: boolean;
}
export interface Block {
  index: number;
  parallelism: number;
  /** Number of its first subtask. */
  first: number;
  inputs: Link[];
  outputs: Link[];
}
export interface Topology {
  count: number;
  /** In topological order. */
  chains: readonly Block[];
  /** Position in `chains` by index of the chain. */
  at: ReadonlyMap<number, number>;
  /** Position of the chain by number of the subtask. */
  chainOf: Int32Array;
}

export function topologyOf({ chains, edges }: PhysicalGraph): Topology {
  let count = 0;
  const blocks = chains.map(({ index, parallelism }): Block => {
    const block = { index, parallelism, first: count, inputs: [], outputs: [] };
    count += parallelism;
    return block;
  });
  const at = new Map(blocks.map(({ index }, position) => [index, position]));
  for (const { source, target, partitioning, feedback } of edges) {
    if (feedback) continue;
    const from = at.get(source)!;
    const to = at.get(target)!;
    blocks[from]!.outputs.push({ chain: to, forward: partitioning === 'forward' });
    blocks[to]!.inputs.push({ chain: from, forward: partitioning === 'forward' });
  }
  const chainOf = new Int32Array(count);
  blocks.forEach(({ first, parallelism }, position) => chainOf.fill(position, first, first + parallelism));
  return { count, chains: blocks, at, chainOf };
}

/** Its number; null: the graph has no such subtask. */
export function subtaskOf({ chains, at }: Topology, chain: number, index: number): number | null {
  const block = chains[at.get(chain) ?? -1];
  return block && index >= 0 && index < block.parallelism ? block.first + index : null;
}

/** Chain and index of a subtask. */
export function placeOf({ chains, chainOf }: Topology, subtask: number): { chain: number; index: number } {
  const { index, first } = chains[chainOf[subtask]!]!;
  return { chain: index, index: subtask - first };
}

/** Calls with each subtask from which (`inputs`) or to which (`outputs`) this one has a channel. */
export function eachNeighbour(topology: Topology, subtask: number, side: 'inputs' | 'outputs', call: (other: number) => void): void {
  const block = topology.chains[topology.chainOf[subtask]!]!;
  for (const { chain, forward } of block[side]) {
    const { first, parallelism } = topology.chains[chain]!;
    if (forward) {
      const index = subtask - block.first;
      if (index < parallelism) call(first + index);
    } else for (let other = first; other < first + parallelism; other += 1) call(other);
  }
}
