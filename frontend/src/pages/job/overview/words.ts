/** What the wavefront says, in sentences. Pure. */
import { counted, duration } from '../../../format';
import { nameOf, type Chain, type PhysicalGraph } from './graph';
import type { Holder } from './holder';
import { placeOf, type Topology } from './topology';

/** Who sends is called by name as far as a line has room. */
const NAMED_MAX = 2;

/** `delay by route → routes [2]`. */
export function subtaskName(subtask: number, graph: PhysicalGraph, topology: Topology): string {
  return `${chainName(subtask, graph, topology)} [${placeOf(topology, subtask).index}]`;
}

function chainName(subtask: number, graph: PhysicalGraph, topology: Topology): string {
  const found = chainAt(subtask, graph, topology);
  return found ? nameOf(found) : `chain ${placeOf(topology, subtask).chain}`;
}

function chainAt(subtask: number, { chains }: PhysicalGraph, topology: Topology): Chain | undefined {
  const { chain } = placeOf(topology, subtask);
  return chains.find(({ index }) => index === chain);
}

/** Who holds the checkpoint, and for how long. `exact`: measured; otherwise only acknowledgements are known. */
export function holderSentence(holder: Holder, graph: PhysicalGraph, topology: Topology, exact: boolean): string {
  switch (holder.is) {
    case 'unknown':
      return 'nobody has acknowledged yet';
    case 'closing':
      return `all have acknowledged; its entry is being written${holder.forMs < 1 ? '' : `, for ${duration(holder.forMs)}`}`;
    case 'writing': {
      const others = holder.others === 0 ? '' : holder.others === 1 ? ', and one more is at it' : `, and ${holder.others} more are at it`;
      return `${subtaskName(holder.subtask, graph, topology)} has been writing its state for ${duration(holder.forMs)}${others}`;
    }
    case 'passing': {
      const { awaiting, inputs } = holder;
      const behind = awaiting === 0 ? '' : awaiting === 1 ? '1 subtask waits for its barrier' : `${counted(awaiting, 'subtask')} wait for its barrier`;
      const said = passing(holder, graph, topology, exact);
      return behind === '' ? said : `${said}${inputs.length === 0 ? ':' : ';'} ${behind}`;
    }
  }
}

/** Barriers that were sent and are not through stand behind records; of who keeps state, or writes out, it may also be its snapshot, where nobody measured. */
function passing({ subtask, inputs, forMs }: Holder & { is: 'passing' }, graph: PhysicalGraph, topology: Topology, exact: boolean): string {
  const name = subtaskName(subtask, graph, topology);
  const forLong = duration(forMs);
  const [first] = inputs;
  if (first === undefined) return exact ? `the source ${name} has not let the barrier go for ${forLong}` : `nothing is heard of the source ${name} for ${forLong}`;
  const own = chainAt(subtask, graph, topology);
  const written = !exact && own?.operators.some(({ stateful, kind }) => stateful || kind === 'sink') ? ', or it writes its state' : '';
  if (inputs.length === 1) return `${name} has been waiting for ${forLong}: the barrier of ${subtaskName(first, graph, topology)} is queued behind records${written}`;
  return `${name} has been aligning for ${forLong}: barriers of ${senders(inputs, graph, topology)} are queued behind records (${counted(inputs.length, 'channel')})${written}`;
}

/** Their chains, of many the first ones: `orders, customers and 3 more`. */
function senders(subtasks: readonly number[], graph: PhysicalGraph, topology: Topology): string {
  const names = [...new Set(subtasks.map((one) => chainName(one, graph, topology)))];
  const more = names.length - NAMED_MAX;
  const named = more > 0 ? [...names.slice(0, NAMED_MAX), `${more} more`] : names;
  return named.length === 1 ? named[0]! : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}
