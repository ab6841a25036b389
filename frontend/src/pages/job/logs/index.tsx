import { Alert, Button, MenuItem, TextField } from '@mui/material';
import { useState } from 'react';
import { useSearchParams } from 'react-router-dom';

import { serverNow } from '../../../api/serverClock';
import type { Schemas } from '../../../api/types';
import { clockWithDate, toMs } from '../../../format';
import { EmptyState, LoadingState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { stateLabel } from '../../../shared/StateChip';
import { useJob, useRuns } from '../useJob';
import { isLevelFilter } from './levelFilters';
import { LEVELS } from './logLine';
import { LogPanel } from './LogPanel';

/**
 * The log of a run. The address contains the run and the filters, such as `?run=1042&level=warning&q=slot`. `at` is a time that the log shows first,
 * such as the time of a failure.
 */
export default function Logs() {
  const { run: newest } = useJob();
  const query = useRuns();
  const [search, setSearch] = useSearchParams();
  // A new run does not replace the log of the previous run, because the user can be reading why the previous run failed.
  const [opened, setOpened] = useState(newest); // the newest run when the user opened this page or chose a run
  if (opened === null && newest !== null) setOpened(newest);
  const runId = Number(search.get('run') ?? opened?.id);
  const at = toMs(search.get('at'));
  const level = search.get('level');
  if (opened === null) return <Panel title="Driver log"><EmptyState title="No runs yet">The log of each run of the job appears here.</EmptyState></Panel>;

  const setParams = (changes: Record<string, string | null>): void =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      for (const [name, value] of Object.entries(changes)) {
        if (value) after.set(name, value);
        else after.delete(name);
      }
      return after;
    }, { replace: true });
  const showRun = (id: number): void => {
    setOpened(newest);
    setParams({ run: String(id), at: null });
  };
  return (
    <Panel title="Driver log" flush>
      <QueryContent query={query} height={320}>
        {(runs) => {
          const run = runs.find(({ id }) => id === runId);
          if (!run) return query.isFetching ? <LoadingState height={320} /> : <EmptyState title="No such run">The job has no run with this ID, or the run was deleted.</EmptyState>;
          return (
            <>
              {newest !== null && opened.id === run.id && newest.id !== run.id && (
                <Alert severity="info" sx={{ mx: 2, mb: 1 }} action={<Button color="inherit" size="small" onClick={() => showRun(newest.id)}>Show run {newest.number}</Button>}>
                  Run {newest.number} has started.
                </Alert>
              )}
              {/* The key discards the loaded lines when the run or the time changes. */}
              <LogPanel
                key={`${run.id} ${at}`}
                run={run}
                at={at}
                level={isLevelFilter(level) ? level : LEVELS[0]}
                text={search.get('q') ?? ''}
                setParams={setParams}
              >
                <TextField select label="Run" value={run.id} onChange={({ target }) => showRun(Number(target.value))} sx={{ width: 270 }}>
                  {runs.map((one) => <MenuItem key={one.id} value={one.id}>{runLabel(one)}</MenuItem>)}
                </TextField>
              </LogPanel>
            </>
          );
        }}
      </QueryContent>
    </Panel>
  );
}

const runLabel = ({ number, state, created_at }: Schemas['RunRead']): string => `${number}, ${stateLabel(state)}, started ${clockWithDate(created_at, serverNow())}`;
