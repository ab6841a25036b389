import { toMs } from '../../../format';
import type { Schemas } from '../../../api/types';
import type { Began, Run } from './lineage';

type Plan = Schemas['PlanShown'];

/** The plan that a run was begun for: it has this beginning, and was being applied when the run was begun. A failed one is brought back later. */
export function planOf({ created_at }: Pick<Run, 'created_at'>, began: Began, plans: readonly Plan[]): Plan | null {
  const begun = toMs(created_at)!;
  const fits = plans.filter(({ preview, approved_at, ended_at }) => {
    const [approved, ended] = [toMs(approved_at), toMs(ended_at)];
    return isFor(preview, began) && approved !== null && approved <= begun && (ended === null || begun <= ended);
  });
  return fits.sort((a, b) => b.id! - a.id!)[0] ?? null;
}

function isFor({ checkpoint, origin, anew }: Plan['preview'], began: Began): boolean {
  switch (began.at) {
    case 'checkpoint':
      return checkpoint === began.number;
    case 'elsewhere':
      return origin === began.path;
    case 'nothing':
      return anew === true;
  }
}
