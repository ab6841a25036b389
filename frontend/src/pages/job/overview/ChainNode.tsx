import type { NodeProps } from '@xyflow/react';
import { memo, useCallback, useRef } from 'react';

import { bytes, percent, perSecond } from '../../../format';
import { Cells } from './Cells';
import type { ChainFigures } from './figures';
import { nameOf, type Chain } from './graph';
import { holderAt } from './holderAt';
import { NAMED_MAX } from './layout';
import type { ChainNodeType } from './nodes';
import type { Wave } from './wavefront';
import { usePainted } from './waveSource';

/** Operators that run in one subtask: names, figures, and its subtasks as cells; from far, the cells only. */
export const ChainNode = memo(function ChainNode({ data: { chain, near, figures }, selected }: NodeProps<ChainNodeType>) {
  const box = useRef<HTMLDivElement>(null);
  const begin = useCallback(() => {
    let held: boolean | null = null;
    return (wave: Wave | null): void => {
      const holds = holderAt(wave, chain.index) >= 0;
      if (holds !== held) box.current!.dataset.holds = String((held = holds));
    };
  }, [chain]);
  usePainted(begin);
  return (
    <div ref={box} className="weir-chain" data-level={figures?.level ?? 'unknown'} data-chosen={selected} data-near={near} title={near ? undefined : nameOf(chain)}>
      {near && <Words chain={chain} figures={figures} />}
      <Cells chain={chain} near={near} />
    </div>
  );
});

function Words({ chain, figures }: { chain: Chain; figures: ChainFigures | undefined }) {
  const named = chain.operators.slice(0, NAMED_MAX);
  return (
    <>
      {named.map(({ uid, name, kind }) => (
        <div key={uid} className="weir-name"><b title={name}>{name}</b><span>{kind}</span></div>
      ))}
      {named.length === 0 && <div className="weir-name"><b>chain {chain.index}</b></div>}
      {chain.operators.length > NAMED_MAX && <div className="weir-name"><span>and {chain.operators.length - NAMED_MAX} more</span></div>}
      <div className="weir-figures">
        <div><span>{perSecond(figures?.recordsInPerS)} → {perSecond(figures?.recordsOutPerS)}</span><span>×{chain.parallelism}</span></div>
        <div>
          <span>state {bytes(figures?.stateBytes)}</span>
          {figures?.busiest && <span title={`the busiest subtask, [${figures.busiest.index}]`}>busy {percent(figures.busiest.busy)}</span>}
        </div>
        <div>
          {figures?.level && <strong title="backpressure of the subtask that is worst off">{figures.level}</strong>}
          {figures?.worst && <span className="worst" title={`the most back-pressured subtask, [${figures.worst.index}]`}>back-pressured {percent(figures.worst.backpressured)}</span>}
        </div>
      </div>
    </>
  );
}
