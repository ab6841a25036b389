import { Alert, Tooltip } from '@mui/material';

import { duration, relative } from '../format';
import { heardAtMs, type Line } from '../live/line';
import { State } from './State';
import { useNow } from './useNow';

/** A line that is only just broken is not worth a banner. */
const BANNER_AFTER_MS = 3_000;

/** Small, beside a title: live, catching up, or since when not. */
export function LineMark({ line }: { line: Line }) {
  const now = useNow();
  switch (line.is) {
    case 'live':
      return <Tooltip title="Changes are shown as they happen" describeChild><span><State of="operation" is="SUCCEEDED" label="updates live" /></span></Tooltip>;
    case 'opening':
    case 'resting':
      return <State of="operation" is="PENDING" label="connecting" />;
    case 'catching-up':
      return <State of="operation" is="RUNNING" label={`catching up: ${line.missed}`} />;
    case 'broken':
      return <State of="alert" is="FIRING" label={line.heardAtMs === null ? 'no connection' : `last heard ${relative(line.heardAtMs, now)}`} />;
    case 'refused':
      return <State of="alert" is="FIRING" label="not followed" />;
  }
}

/** Across the page: what is shown is old, how old, and when it is tried again. */
export function LineBanner({ line }: { line: Line }) {
  const now = useNow();
  if (line.is === 'refused') return <Alert severity="warning">Changes are not shown any more: {line.why}. Reload the page to try again.</Alert>;
  if (line.is !== 'broken') return null;
  const heard = heardAtMs(line);
  if (heard !== null && now - heard < BANNER_AFTER_MS) return null;
  const wait = Math.max(0, line.againAtMs - now);
  return (
    // What ticks is no part of what is announced: nobody can listen to a new text each second of an outage.
    <Alert severity="warning" role="none">
      <span role="status">Out of reach: {line.why}; jobs go on without it.</span>{' '}
      {heard === null ? 'Nothing was heard of it yet.' : `What you see is ${duration(now - heard)} old.`}{' '}
      {wait < 1000 ? 'Trying again.' : `Trying again in ${duration(wait)}.`}
    </Alert>
  );
}
