import { useMemo } from 'react';
import { Route, Routes } from 'react-router-dom';

import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { useJob } from '../useJob';
import { Elsewhere } from './Elsewhere';
import { lineageOf } from './lineage';
import { PlanPage } from './PlanPage';
import { Plans } from './Plans';
import { Tree } from './Tree';
import { useLineage, usePlans, type Found, type Plan } from './useRecovery';

/** The tree and the plans; one plan has an address of its own, so that somebody else can be asked to look at it and confirm it. */
export default function Recovery() {
  return (
    <Routes>
      <Route index element={<All />} />
      <Route path=":planId" element={<PlanPage />} />
    </Routes>
  );
}

function All() {
  const { id } = useJob();
  const found = useLineage(id);
  const plans = usePlans(id);
  return (
    <>
      <Panel title="Lineage" flush actions={<Elsewhere />}>
        <Answered query={found} height={240}>{(known) => <LineageOf found={known} plans={plans.data ?? []} />}</Answered>
      </Panel>
      <Panel title="Plans" flush>
        <Answered query={plans}>{(all) => <Plans plans={all} found={found.data} />}</Answered>
      </Panel>
    </>
  );
}

function LineageOf({ found, plans }: { found: Found; plans: readonly Plan[] }) {
  const lineage = useMemo(() => lineageOf(found.runs, found.checkpoints), [found]);
  if (found.runs.length === 0) return <Empty title="It has not run yet">With its first checkpoint there is something to go back to.</Empty>;
  return <Tree lineage={lineage} plans={plans} />;
}
