import { Typography } from '@mui/material';
import { useMemo } from 'react';
import { Route, Routes } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { count, duration } from '../../../format';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { useJob } from '../useJob';
import { RestoreActions } from './RestoreFromPath';
import { lineageOf } from './lineage';
import { PlanPage } from './PlanPage';
import { PlanTable } from './PlanTable';
import { LineageTree } from './LineageTree';
import { useCoverage, useLineage, usePlans, type LineageRows, type Plan } from './useRecovery';

/** Shows the lineage and the plans of a job. Each plan has its own URL, so that a user can send the URL to another user, who confirms the plan. */
export default function Recovery() {
  return (
    <Routes>
      <Route index element={<RecoveryOverview />} />
      <Route path=":planId" element={<PlanPage />} />
    </Routes>
  );
}

function RecoveryOverview() {
  const { id } = useJob();
  const history = useLineage(id);
  const plans = usePlans(id);
  const coverage = useCoverage(id);
  return (
    <>
      <Panel title="If a slot fails now"><QueryContent query={coverage} height={48}>{(known) => <Coverage of={known} />}</QueryContent></Panel>
      <Panel title="Lineage" flush actions={<RestoreActions />}>
        <QueryContent query={history} height={240}>{(known) => <LineagePanel history={known} plans={plans.data ?? []} />}</QueryContent>
      </Panel>
      <Panel title="Plans" flush>
        <QueryContent query={plans}>{(all) => <PlanTable plans={all} />}</QueryContent>
      </Panel>
    </>
  );
}

function Coverage({ of: { strategy, sentence, recoveries, median_ms, max_ms } }: { of: Schemas['CoverageRead'] }) {
  return (
    <>
      <Typography>{sentence}</Typography>
      {strategy && <Typography sx={{ color: 'text.secondary' }}>{recoveries > 0 ? `Recent recoveries of this kind: ${count(recoveries)}. Downtime: median ${duration(median_ms)}, maximum ${duration(max_ms)}` : 'The job has not recovered in this way yet'}</Typography>}
    </>
  );
}

function LineagePanel({ history, plans }: { history: LineageRows; plans: readonly Plan[] }) {
  const lineage = useMemo(() => lineageOf(history.runs, history.checkpoints), [history]);
  if (history.runs.length === 0) return <EmptyState title="No checkpoints yet">Checkpoints and restores appear here after the first run.</EmptyState>;
  return <LineageTree lineage={lineage} plans={plans} />;
}
