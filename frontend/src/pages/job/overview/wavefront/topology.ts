/**
 * The channels through which barriers travel. Feedback edges are left out, because alignment ignores feedback edges. Subtasks are numbered from 0,
 * chain by chain.
 */
import type { PhysicalGraph } from '../../physicalGraph';

interface Link {
  /** The other chain of the edge, as an index in `chains`. */
  chain: number;
  /**
   * Whether each subtask is connected only to the subtask with the same index. If `forward` is false, each upstream subtask is connected to all
   * downstream subtasks.
   */
  forward: boolean;
}
interface ChainBlock {
  index: number;
  parallelism: number;
  /** The number of the first subtask of the chain. */
  first: number;
  inputs: Link[];
  outputs: Link[];
}
export interface Topology {
  count: number;
  /** The chains in topological order. */
  chains: readonly ChainBlock[];
  /** Maps the index of a chain to its position in `chains`. */
  at: ReadonlyMap<number, number>;
  /** For each subtask number, the position of its chain in `chains`. */
  chainOf: Int32Array;
}

export function buildTopology({ chains, edges }: PhysicalGraph): Topology {
  let count = 0;
  const blocks = chains.map(({ index, parallelism }): ChainBlock => {
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

/** Return the number of a subtask, or null if the graph does not contain the subtask. */
export function subtaskNumber({ chains, at }: Topology, chain: number, index: number): number | null {
  const block = chains[at.get(chain) ?? -1];
  return block && index >= 0 && index < block.parallelism ? block.first + index : null;
}

/** Return the chain and the index of a subtask. */
export function subtaskPosition({ chains, chainOf }: Topology, subtask: number): { chain: number; index: number } {
  const { index, first } = chains[chainOf[subtask]!]!;
  return { chain: index, index: subtask - first };
}

/** Call the function `call` for each upstream subtask (`inputs`) or downstream subtask (`outputs`) of a subtask. */
export function forEachNeighbour(topology: Topology, subtask: number, side: 'inputs' | 'outputs', call: (other: number) => void): void {
  const block = topology.chains[topology.chainOf[subtask]!]!;
  for (const { chain, forward } of block[side]) {
    const { first, parallelism } = topology.chains[chain]!;
    if (forward) {
      const index = subtask - block.first;
      if (index < parallelism) call(first + index);
    } else for (let other = first; other < first + parallelism; other += 1) call(other);
  }
}
