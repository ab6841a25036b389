import { Alert, Box, Button, FormControlLabel, MenuItem, Switch, TextField, Typography } from '@mui/material';
import { useEffect, useEffectEvent, useMemo, useState, type ReactNode } from 'react';

import { ApiProblem } from '../../../api/problem';
import type { Schemas } from '../../../api/types';
import { absolute, bytes, count, pluralize } from '../../../format';
import { useStore } from '../../../live/store';
import { EmptyState, ErrorState, LoadingState } from '../../../shared/DataStates';
import { DownloadButton } from './DownloadButton';
import { LEVEL_FILTERS } from './levelFilters';
import { LogList } from './LogList';
import { filterLines, firstLineAt, LEVELS, searchPattern, type Level } from './logLine';
import { linesOf } from './logWindow';
import { logReader, RunLog } from './runLog';
import { SearchField } from './SearchField';

const POLL_MS = 1_500;

interface Props {
  run: Schemas['RunRead'];
  /** The time that the log shows first, in milliseconds. Null means the end of the log. */
  at: number | null;
  level: Level;
  text: string;
  /** Sets parameters of the address. Null and empty values remove a parameter. */
  setParams: (changes: Record<string, string | null>) => void;
  /** The run picker. */
  children: ReactNode;
}

/** The log of one run, with its filters. While the user follows the log of a live run, the panel loads new lines. */
export function LogPanel({ run, at, level, text, setParams, children }: Props) {
  const read = useMemo(() => logReader(run.id), [run.id]);
  const [log] = useState(() => new RunLog(read));
  const window = useStore(log.store, (state) => state.window);
  const error = useStore(log.store, (state) => state.error);
  const [follow, setFollow] = useState(at === null);
  const live = run.ended_at === null;
  const refused = error instanceof ApiProblem && error.status >= 400 && error.status < 500;
  const open = (): void => void (at === null ? log.catchUp() : log.openAt(at));
  const openAt = useEffectEvent(() => {
    if (at !== null) open();
  });
  useEffect(() => openAt(), [log]);
  useEffect(() => {
    if (!follow || refused) return;
    // If the run has ended, this request loads the last lines.
    void log.catchUp();
    if (!live) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void log.catchUp();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [log, follow, live, refused]);

  const lines = useMemo(() => (window ? linesOf(window) : []), [window]);
  const pattern = useMemo(() => searchPattern(text), [text]);
  const shown = useMemo(() => filterLines(lines, level, pattern), [lines, level, pattern]);
  // Search for the line to mark only once, because the panel can later remove this line from memory. Null: no line has a time late enough.
  const [marked, setMarked] = useState<number | null>();
  if (marked === undefined && at !== null && window !== null) setMarked(firstLineAt(lines, at)?.offset ?? null);
  const isFiltered = level !== LEVELS[0] || pattern !== null;
  const jumpToEnd = (): void => {
    if (at !== null) setParams({ at: null });
    else setFollow(true);
  };
  return (
    <>
      <Box sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1, px: 2, pt: 0.75, pb: 1 }}>
        {children}
        <TextField select label="Level" value={level} onChange={({ target }) => setParams({ level: target.value === LEVELS[0] ? null : target.value })} sx={{ width: 180 }}>
          {Object.entries(LEVEL_FILTERS).map(([value, label]) => <MenuItem key={value} value={value}>{label}</MenuItem>)}
        </TextField>
        <SearchField text={text} onSearch={(q) => setParams({ q })} />
        <Box sx={{ ml: 'auto', display: 'flex', gap: 1 }}>
          {live && <FormControlLabel control={<Switch size="small" checked={follow} onChange={(_, checked) => (checked ? jumpToEnd() : setFollow(false))} />} label="Follow" />}
          <Button size="small" onClick={jumpToEnd}>Jump to end</Button>
          <DownloadButton run={run} />
        </Box>
      </Box>
      {window === null ? (
        error === null ? <LoadingState height={320} /> : <LogProblem error={error} onRetry={open} />
      ) : (
        <>
          {error !== null && (refused ? <LogProblem error={error} onRetry={open} /> : <ReadError error={error} retries={follow && live} onRetry={() => void log.catchUp()} />)}
          {window.size === 0 ? (
            <EmptyState title="No lines yet">{live ? 'The driver has not written anything yet.' : 'The driver of this run has not written anything.'}</EmptyState>
          ) : (
            <>
              <Typography variant="body2" sx={{ px: 2, pb: 1, color: 'text.secondary' }}>
                {isFiltered ? `${count(shown.length)} of ${pluralize(lines.length, 'loaded line')} match` : `${pluralize(lines.length, 'line')} loaded`}, {bytes(window.end - window.begin)} of {bytes(window.size)}.
                {level !== LEVELS[0] && ' Lines without a level, such as stack traces, match every level.'}
                {at !== null && (typeof marked === 'number' ? ` The marked line is the first line at or after ${absolute(at)}.` : ` The log contains no lines at or after ${absolute(at)}.`)}
              </Typography>
              <LogList
                lines={shown}
                pattern={pattern}
                marked={marked ?? null}
                follow={follow}
                onFollow={setFollow}
                onEarlier={window.begin > 0 ? () => void log.loadEarlier() : undefined}
                onLater={window.end < window.size ? () => void log.loadLater() : undefined}
                onClearFilters={isFiltered ? () => setParams({ level: null, q: null }) : undefined}
              />
            </>
          )}
        </>
      )}
      <Typography variant="body2" sx={{ px: 2, py: 1, color: 'text.secondary' }}>
        If the master is local, this log also contains the output of the slots; on a cluster, the logs of Spark’s executors contain it.
      </Typography>
    </>
  );
}

/** Shown if the API has no log of the run, or refuses to return the log. */
function LogProblem({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const title = error instanceof ApiProblem ? { 'log-removed': 'Log deleted', 'log-on-other-host': 'Log on another host' }[error.code] : undefined;
  return title ? <EmptyState title={title}>{(error as ApiProblem).message}</EmptyState> : <ErrorState error={error} onRetry={onRetry} />;
}

/** Shown above the loaded lines if a request for more lines failed. */
function ReadError({ error, retries, onRetry }: { error: unknown; retries: boolean; onRetry: () => void }) {
  if (!retries) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <Alert severity="warning" variant="outlined" sx={{ mx: 2, mb: 1 }}>
      Cannot load new lines. The page retries every {POLL_MS / 1_000} s. {error instanceof ApiProblem ? error.message : ''}
    </Alert>
  );
}
