import { Box, Tooltip } from '@mui/material';

import { absolute, clockOnDay, relative, toMs, type Moment } from '../format';
import { useNow } from './useNow';

/**
 * When something was, as people say it; the absolute time with its zone on pointing at it. `clock`: the time of day before it, for lists that
 * are held against other people's logs.
 */
export function Ago({ at, clock = false }: { at: Moment; clock?: boolean }) {
  const now = useNow();
  const ms = toMs(at);
  if (ms === null) return <>{relative(null, now)}</>;
  const ago = relative(ms, now);
  return (
    // Said beside what stands there, and not instead of it.
    <Tooltip title={absolute(ms)} describeChild>
      <time dateTime={new Date(ms).toISOString()} style={clock ? undefined : NARROW}>
        {clock ? <><span style={NARROW}>{clockOnDay(ms, now)}</span> <Box component="span" sx={ASIDE}>{ago}</Box></> : ago}
      </time>
    </Tooltip>
  );
}

const NARROW = { whiteSpace: 'nowrap' } as const;
const ASIDE = { color: 'text.secondary', whiteSpace: 'nowrap' } as const;

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
