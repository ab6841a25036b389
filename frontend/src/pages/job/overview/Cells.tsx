import { memo, useCallback, useMemo, useRef } from 'react';

import { counted } from '../../../format';
import type { Chain } from './graph';
import { holderAt } from './holderAt';
import { cellPath, cellsOf, farCellsOf, FILLED, heightOf, type Cells as Places } from './layout';
import { stepsOf, STEPS, type Wave } from './wavefront';
import { usePainted } from './waveSource';

/** The subtasks of a chain and where the barrier is among them, in one SVG. It paints itself: an attribute when one of them goes on, and else nothing. */
export const Cells = memo(function Cells({ chain, near }: { chain: Chain; near: boolean }) {
  const svg = useRef<SVGSVGElement>(null);
  const cells = useMemo(() => (near ? cellsOf(chain.parallelism) : farCellsOf(chain.parallelism, heightOf(chain))), [chain, near]);
  const begin = useCallback(() => painter(svg.current!, chain, cells), [chain, cells]);
  usePainted(begin);
  return (
    <svg ref={svg} className="weir-cells" width={cells.columns * cells.step} height={cells.rows * cells.step} role="img">
      <path className="frame" d={cellPath(cells, chain.parallelism, () => true, 1)} />
      {/* What is in them is painted, so React says nothing about it. Who waits is nothing but a frame. */}
      {STEPS.slice(1).map((step) => <path key={step} className={step} />)}
      <path className="holder" />
    </svg>
  );
});

function painter(svg: SVGSVGElement, { index, parallelism }: Chain, cells: Places): (wave: Wave | null) => void {
  const filled = STEPS.slice(1).map((step, at) => ({ path: svg.getElementsByClassName(step)[0]!, digit: String(at + 1), share: FILLED[at + 1]! }));
  const ring = svg.getElementsByClassName('holder')[0]!;
  let steps: string | null = null;
  let holder = -2;
  return (wave) => {
    const nowSteps = wave ? stepsOf(wave, index) : '';
    const nowHolder = holderAt(wave, index);
    if (nowSteps !== steps) {
      for (const { path, digit, share } of filled) path.setAttribute('d', cellPath(cells, parallelism, (at) => nowSteps[at] === digit, share));
      svg.dataset.steps = nowSteps;
      svg.setAttribute('aria-label', said(nowSteps, parallelism));
    }
    if (nowHolder !== holder) ring.setAttribute('d', cellPath(cells, parallelism, (at) => at === nowHolder, 1));
    [steps, holder] = [nowSteps, nowHolder];
  };
}

/** `2 waiting, 6 acknowledged`. */
function said(steps: string, parallelism: number): string {
  if (steps === '') return counted(parallelism, 'subtask');
  return STEPS.map((step, digit) => [step, steps.split(String(digit)).length - 1] as const)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `${count} ${step}`)
    .join(', ');
}
