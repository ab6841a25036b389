import { memo } from 'react';

import { counted } from '../../../format';
import type { Chain } from './graph';
import { holderAt } from './holderAt';
import { cellPath, cellsOf, FILLED } from './layout';
import { stepsOf, STEPS } from './wavefront';
import { useWave } from './waveSource';

/** The subtasks of a chain and where the barrier is among them, in one SVG: drawn anew when one of them goes on, and not otherwise. */
export const Cells = memo(function Cells({ chain }: { chain: Chain }) {
  const { index, parallelism } = chain;
  const steps = useWave((wave) => (wave ? stepsOf(wave, index) : ''));
  const holder = useWave((wave) => holderAt(wave, index));
  const cells = cellsOf(parallelism);
  return (
    <svg className="weir-cells" width={cells.columns * cells.step} height={cells.rows * cells.step} role="img" aria-label={said(steps, parallelism)} data-steps={steps}>
      <path className="frame" d={cellPath(cells, parallelism, () => true, 1)} />
      {STEPS.map((step, digit) =>
        steps.includes(String(digit)) && digit > 0 ? <path key={step} className={step} d={cellPath(cells, parallelism, (at) => steps[at] === String(digit), FILLED[digit]!)} /> : null,
      )}
      {holder >= 0 && <path className="holder" d={cellPath(cells, parallelism, (at) => at === holder, 1)} />}
    </svg>
  );
});

/** `2 waiting, 6 acknowledged`. */
function said(steps: string, parallelism: number): string {
  if (steps === '') return counted(parallelism, 'subtask');
  return STEPS.map((step, digit) => [step, steps.split(String(digit)).length - 1] as const)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `${count} ${step}`)
    .join(', ');
}
