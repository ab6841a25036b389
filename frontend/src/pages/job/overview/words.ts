/** What the wavefront says, in sentences. Pure. */
import { duration } from '../../../format';
import { nameOf, type PhysicalGraph } from './graph';
import type { Holder } from './holder';
import { placeOf, type Topology } from './topology';

/** `delay by route → routes [2]`. */
export function subtaskName(subtask: number, graph: PhysicalGraph, topology: Topology): string {
  const { chain, index } = placeOf(topology, subtask);
  const found = graph.chains.find((one) => one.index === chain);
  return `${found ? nameOf(found) : `chain ${chain}`} [${index}]`;
}

/** Who holds the checkpoint, and for how long. `exact`: measured; otherwise only acknowledgements are known. */
export function holderSentence(holder: Holder, graph: PhysicalGraph, topology: Topology, exact: boolean): string {
  const forLong = duration(holder.forMs);
  switch (holder.is) {
    case 'unknown':
      return `nobody has acknowledged yet, for ${forLong}`;
    case 'closing':
      return `all have acknowledged; its entry is being written, for ${forLong}`;
    case 'writing': {
      const others = holder.others === 0 ? '' : holder.others === 1 ? ', and one more is at it' : `, and ${holder.others} more are at it`;
      return `${subtaskName(holder.subtask, graph, topology)} has been writing its state for ${forLong}${others}`;
    }
    case 'passing': {
      const name = subtaskName(holder.subtask, graph, topology);
      if (holder.from === null) return exact ? `the source ${name} has not let the barrier go for ${forLong}` : `nothing is heard of the source ${name} for ${forLong}`;
      const from = subtaskName(holder.from, graph, topology);
      return exact ? `${name} holds it for ${forLong}: its last barrier comes from ${from}` : `${name} holds it for ${forLong}; the barrier last came from ${from}`;
    }
  }
}
