import { Box, Tooltip } from '@mui/material';

import { absolute, clockWithDate, relative, toMs, type Moment } from '../format';
import { useNow } from './useNow';

/**
 * A relative time such as `5 s ago`, with the absolute time as a tooltip. `clock` adds the time of day, for lists that users compare with
 * logs.
 */
export function RelativeTime({ at, clock = false }: { at: Moment; clock?: boolean }) {
  const now = useNow();
  const ms = toMs(at);
  if (ms === null) return <>{relative(null, now)}</>;
  const ago = relative(ms, now);
  return (
    // The tooltip describes the text and does not replace it for screen readers.
    <Tooltip title={absolute(ms)} describeChild>
      <time dateTime={new Date(ms).toISOString()} style={clock ? undefined : NO_WRAP}>
        {clock ? <><span style={NO_WRAP}>{clockWithDate(ms, now)}</span> <Box component="span" sx={SECONDARY}>{ago}</Box></> : ago}
      </time>
    </Tooltip>
  );
}

const NO_WRAP = { whiteSpace: 'nowrap' } as const;
const SECONDARY = { color: 'text.secondary', whiteSpace: 'nowrap' } as const;

/** An absolute time, followed by the relative time. */
export function AbsoluteTime({ at }: { at: Moment }) {
  const now = useNow();
  const ms = toMs(at);
  if (ms === null) return <>{relative(null, now)}</>;
  return (
    <time dateTime={new Date(ms).toISOString()}>
      {absolute(ms)} ({relative(ms, now)})
    </time>
  );
}
