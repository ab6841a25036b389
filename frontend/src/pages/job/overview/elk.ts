/** elkjs, in a worker of its own: large graphs take seconds, and the page must not stand still meanwhile. Loaded when first needed. */
import type { ELK, ElkNode } from 'elkjs/lib/elk-api';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';

import type { PhysicalGraph } from './graph';
import { elkOf, placedOf, type Placed } from './layout';

interface Layouter {
  elk: ELK;
  /** Never fulfilled; refused when the worker cannot be loaded, of which elkjs would say nothing. */
  broken: Promise<never>;
}

let layouter: Promise<Layouter> | undefined;

export async function layOut(graph: PhysicalGraph): Promise<Placed> {
  layouter ??= begin();
  try {
    const { elk, broken } = await layouter;
    return placedOf(await Promise.race<ElkNode>([elk.layout(elkOf(graph)), broken]));
  } catch (error) {
    layouter = undefined;
    throw error;
  }
}

async function begin(): Promise<Layouter> {
  let refuse: (reason: Error) => void;
  const broken = new Promise<never>((_, reject) => (refuse = reject));
  broken.catch(() => {});
  if (typeof Worker === 'undefined') {
    const { default: Elk } = await import('elkjs/lib/elk.bundled.js');
    return { elk: new Elk(), broken };
  }
  const { default: Elk } = await import('elkjs/lib/elk-api.js');
  const workerFactory = (): Worker => {
    const worker = new Worker(workerUrl);
    worker.addEventListener('error', () => refuse(new Error('the layout of the graph could not be loaded')));
    return worker;
  };
  return { elk: new Elk({ workerFactory }), broken };
}
