import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';
import { memo } from 'react';

import { bytes, percent, perSecond } from '../../../format';
import { Cells } from './Cells';
import { useFigures } from './FiguresContext';
import type { Chain } from './graph';
import { holderAt } from './holderAt';
import { NAMED_MAX } from './layout';
import { useWave } from './waveSource';

export type ChainNodeType = Node<{ chain: Chain }, 'chain'>;

/** Operators that run in one subtask: names, figures, and its subtasks as cells. */
export const ChainNode = memo(function ChainNode({ data: { chain }, selected }: NodeProps<ChainNodeType>) {
  const figures = useFigures(chain.index);
  const holds = useWave((wave) => holderAt(wave, chain.index) >= 0);
  const named = chain.operators.slice(0, NAMED_MAX);
  const worst = figures?.subtasks[figures.worst ?? -1];
  return (
    <div className="weir-chain" data-level={figures?.level ?? 'unknown'} data-chosen={selected} data-holds={holds}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {named.map(({ uid, name, kind }) => (
        <div key={uid} className="weir-name"><b title={name}>{name}</b><span>{kind}</span></div>
      ))}
      {named.length === 0 && <div className="weir-name"><b>chain {chain.index}</b></div>}
      {chain.operators.length > NAMED_MAX && <div className="weir-name"><span>and {chain.operators.length - NAMED_MAX} more</span></div>}
      <div className="weir-figures">
        <div><span>{perSecond(figures?.recordsInPerS)} → {perSecond(figures?.recordsOutPerS)}</span><span>×{chain.parallelism}</span></div>
        <div>
          <span>state {bytes(figures?.stateBytes)}</span>
          {figures?.level && <strong title="backpressure of the subtask that is worst off">{figures.level} {percent(worst?.backpressured)}</strong>}
        </div>
      </div>
      <Cells chain={chain} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});
