import { memo, useCallback, useMemo, useRef } from 'react';

import { pluralize } from '../../../../format';
import type { Chain } from '../../physicalGraph';
import { blockingIndex } from '../wavefront/blockingSubtask';
import { chainSteps, STEPS, type Wavefront } from '../wavefront/wavefront';
import { useWavefrontPainter } from '../wavefront/wavefrontSource';
import { cellGrid, cellPath, nodeHeight, STEP_FILL, zoomedOutCellGrid, type CellGrid } from './layout';

/** Draws the subtasks of a chain and their barrier steps in one SVG. The painter runs outside React and sets only attributes that have changed. */
export const SubtaskCells = memo(function SubtaskCells({ chain, near }: { chain: Chain; near: boolean }) {
  const svg = useRef<SVGSVGElement>(null);
  const cells = useMemo(() => (near ? cellGrid(chain.parallelism) : zoomedOutCellGrid(chain.parallelism, nodeHeight(chain))), [chain, near]);
  const createPainter = useCallback(() => painter(svg.current!, chain, cells), [chain, cells]);
  useWavefrontPainter(createPainter);
  const [width, height] = [cells.columns * cells.step, cells.rows * cells.step];
  return (
    <svg ref={svg} className="weir-cells" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img">
      <path className="frame" d={cellPath(cells, chain.parallelism, () => true, 1)} />
      {/* The paths of the wavefront steps are painted outside React. The cell of a waiting subtask has only an outline. */}
      {STEPS.slice(1).map((step) => <path key={step} className={step} />)}
      <path className="blocker" />
    </svg>
  );
});

function painter(svg: SVGSVGElement, { index, parallelism }: Chain, cells: CellGrid): (wave: Wavefront | null) => void {
  const filled = STEPS.slice(1).map((step, at) => ({ path: svg.getElementsByClassName(step)[0]!, digit: String(at + 1), share: STEP_FILL[at + 1]! }));
  const ring = svg.getElementsByClassName('blocker')[0]!;
  let steps: string | null = null;
  let blocker = -2;
  return (wave) => {
    const currentSteps = wave ? chainSteps(wave, index) : '';
    const currentBlocker = blockingIndex(wave, index);
    if (currentSteps !== steps) {
      for (const { path, digit, share } of filled) path.setAttribute('d', cellPath(cells, parallelism, (at) => currentSteps[at] === digit, share));
      svg.dataset.steps = currentSteps;
      svg.setAttribute('aria-label', stepsLabel(currentSteps, parallelism));
    }
    if (currentBlocker !== blocker) ring.setAttribute('d', cellPath(cells, parallelism, (at) => at === currentBlocker, 1));
    [steps, blocker] = [currentSteps, currentBlocker];
  };
}

/** `2 waiting, 6 acknowledged`. */
function stepsLabel(steps: string, parallelism: number): string {
  if (steps === '') return pluralize(parallelism, 'subtask');
  return STEPS.map((step, digit) => [step, steps.split(String(digit)).length - 1] as const)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `${count} ${step}`)
    .join(', ');
}
