import { Tooltip } from '@mui/material';

import { absolute, relative, toMs, type Moment } from '../format';
import { useNow } from './useNow';

/** When something was, as people say it; the absolute time with its zone on pointing at it. */
export function Ago({ at }: { at: Moment }) {
  const now = useNow();
  const ms = toMs(at);
  if (ms === null) return <>{relative(null, now)}</>;
  return (
    // Said beside what stands there, and not instead of it.
    <Tooltip title={absolute(ms)} describeChild>
      <time dateTime={new Date(ms).toISOString()} style={{ whiteSpace: 'nowrap' }}>
        {relative(ms, now)}
      </time>
    </Tooltip>
  );
}

/** The absolute time, and how long ago that is. */
export function When({ at }: { at: Moment }) {
  const now = useNow();
  const ms = toMs(at);
  if (ms === null) return <>{relative(null, now)}</>;
  return (
    <time dateTime={new Date(ms).toISOString()}>
      {absolute(ms)} ({relative(ms, now)})
    </time>
  );
}
