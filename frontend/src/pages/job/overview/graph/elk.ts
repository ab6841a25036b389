/** Runs elkjs in a web worker, because the layout of a large graph takes seconds. elkjs is loaded on first use. */
import type { ELK, ElkNode } from 'elkjs/lib/elk-api';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';

import type { PhysicalGraph } from '../../physicalGraph';
import { toElkGraph, fromElkGraph, type GraphLayout } from './layout';

interface LayoutWorker {
  elk: ELK;
  /** A promise that rejects if the worker cannot be loaded, because elkjs does not report this error. The promise never resolves. */
  broken: Promise<never>;
}

let layoutWorker: Promise<LayoutWorker> | undefined;

export async function computeLayout(graph: PhysicalGraph): Promise<GraphLayout> {
  layoutWorker ??= startWorker();
  try {
    const { elk, broken } = await layoutWorker;
    return fromElkGraph(await Promise.race<ElkNode>([elk.layout(toElkGraph(graph)), broken]));
  } catch (error) {
    layoutWorker = undefined;
    throw error;
  }
}

async function startWorker(): Promise<LayoutWorker> {
  let rejectBroken: (reason: Error) => void;
  const broken = new Promise<never>((_, reject) => (rejectBroken = reject));
  broken.catch(() => {});
  if (typeof Worker === 'undefined') {
    const { default: Elk } = await import('elkjs/lib/elk.bundled.js');
    return { elk: new Elk(), broken };
  }
  const { default: Elk } = await import('elkjs/lib/elk-api.js');
  const workerFactory = (): Worker => {
    const worker = new Worker(workerUrl);
    worker.addEventListener('error', () => rejectBroken(new Error('Cannot load the graph layout worker. Reload the page.')));
    return worker;
  };
  return { elk: new Elk({ workerFactory }), broken };
}
