import { Alert, Tooltip } from '@mui/material';

import { clock, duration, relative } from '../format';
import { sentence, UNREACHABLE } from '../api/problem';
import { lastHeardAtMs, type ConnectionState } from '../live/connectionState';
import { StateChip } from './StateChip';
import { useNow } from './useNow';

/** The minimum duration of an outage for which the banner is shown. */
const BANNER_AFTER_MS = 3_000;

/** The state of the live connection, shown next to a page title. */
export function ConnectionStatus({ connection }: { connection: ConnectionState }) {
  const now = useNow();
  switch (connection.status) {
    case 'live':
      return <Tooltip title="Changes are shown as they happen" describeChild><span><StateChip kind="operation" state="SUCCEEDED" label="updates live" /></span></Tooltip>;
    case 'connecting':
    case 'paused':
      return <StateChip kind="operation" state="PENDING" label="connecting" />;
    case 'catching-up':
      return <StateChip kind="operation" state="RUNNING" label={`catching up: ${connection.missed}`} />;
    case 'disconnected':
      return <StateChip kind="alert" state="FIRING" label={connection.heardAtMs === null ? 'no connection' : `last update ${relative(connection.heardAtMs, now)}`} />;
    case 'refused':
      return <StateChip kind="alert" state="FIRING" label="no live updates" />;
  }
}

/** A banner that says how old the data is and when the page reconnects. */
export function ConnectionBanner({ connection }: { connection: ConnectionState }) {
  const now = useNow();
  if (connection.status === 'refused') return <Alert severity="warning">Live updates have stopped. {sentence(connection.reason)} Reload the page to try again.</Alert>;
  if (connection.status !== 'disconnected') return null;
  const heard = lastHeardAtMs(connection);
  if (heard !== null && now - heard < BANNER_AFTER_MS) return null;
  const wait = Math.max(0, connection.retryAtMs - now);
  return (
    // Text that changes every second is outside of the element with the status role, because a screen reader would otherwise announce each change.
    <Alert severity="warning" role="none">
      <span role="status">API unreachable{heard === null ? '' : ` since ${clock(heard)}`}. Jobs continue to run without the API.</span>{' '}
      {heard === null ? 'No data has arrived yet.' : `This data is ${duration(now - heard)} old.`}{' '}
      {connection.reason === UNREACHABLE.detail ? '' : sentence(connection.reason)}{' '}
      {wait < 1000 ? 'Retrying.' : `Retrying in ${duration(wait)}.`}
    </Alert>
  );
}
