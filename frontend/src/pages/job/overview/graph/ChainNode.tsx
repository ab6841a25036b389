import type { NodeProps } from '@xyflow/react';
import { memo, useCallback, useRef } from 'react';

import { bytes, percent, perSecond } from '../../../../format';
import { chainTitle, operatorSubtitle, type Chain } from '../../physicalGraph';
import { blockingIndex } from '../wavefront/blockingSubtask';
import type { Wavefront } from '../wavefront/wavefront';
import { useWavefrontPainter } from '../wavefront/wavefrontSource';
import type { ChainMetrics } from './chainMetrics';
import { NAMES_MAX } from './layout';
import type { ChainNodeType } from './nodes';
import { SubtaskCells } from './SubtaskCells';

/** A chain with its operator names, its metrics, and its subtasks as cells. When the graph is zoomed out, a chain shows only its title and its cells. */
export const ChainNode = memo(function ChainNode({ data: { chain, near, metrics }, selected }: NodeProps<ChainNodeType>) {
  const box = useRef<HTMLDivElement>(null);
  const createPainter = useCallback(() => {
    let held: boolean | null = null;
    return (wave: Wavefront | null): void => {
      const holds = blockingIndex(wave, chain.index) >= 0;
      if (holds !== held) box.current!.dataset.holds = String((held = holds));
    };
  }, [chain]);
  useWavefrontPainter(createPainter);
  return (
    <div ref={box} className="weir-chain" data-level={metrics?.level ?? 'unknown'} data-chosen={selected} data-near={near} title={near ? undefined : chainTitle(chain)}>
      {near ? <NodeText chain={chain} metrics={metrics} /> : <div className="weir-title">{chainTitle(chain)}</div>}
      <SubtaskCells chain={chain} near={near} />
      {metrics?.bottleneck && !near && <b className="weir-bottleneck" aria-hidden>!</b>}
    </div>
  );
});

function NodeText({ chain, metrics }: { chain: Chain; metrics: ChainMetrics | undefined }) {
  const visibleOperators = chain.operators.slice(0, NAMES_MAX);
  return (
    <>
      {visibleOperators.map((operator) => (
        <div key={operator.uid} className="weir-name"><b title={operator.uid}>{operator.uid}</b><span title={operatorSubtitle(operator)}>{operatorSubtitle(operator)}</span></div>
      ))}
      {visibleOperators.length === 0 && <div className="weir-name"><b>chain {chain.index}</b></div>}
      {chain.operators.length > NAMES_MAX && <div className="weir-name"><span>and {chain.operators.length - NAMES_MAX} more</span></div>}
      <div className="weir-metrics">
        <div><span>{perSecond(metrics?.recordsInPerS)} → {perSecond(metrics?.recordsOutPerS)}</span><span>×{chain.parallelism}</span></div>
        <div>
          <span>state {bytes(metrics?.stateBytes)}</span>
          {metrics?.busiest && <span title={`busiest subtask: [${metrics.busiest.index}]`}>busy {percent(metrics.busiest.busy)}</span>}
        </div>
        <div>
          {metrics?.bottleneck ? (
            <b className="weir-bottleneck" title={metrics.bottleneck.sentence}>! bottleneck</b>
          ) : (
            metrics?.level && <strong title="highest backpressure level of the subtasks">{metrics.level}</strong>
          )}
          {metrics?.worst && <span className="worst" title={`subtask with the highest pressure (backpressured or queued): [${metrics.worst.index}]`}>pressure {percent(metrics.worst.pressure)}</span>}
        </div>
      </div>
    </>
  );
}
