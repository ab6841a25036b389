import CheckCircleIcon from '@mui/icons-material/CheckCircleOutline';
import ErrorIcon from '@mui/icons-material/ErrorOutline';
import { Alert, Box, IconButton, Popover, Table, TableBody, TableCell, TableRow, Tooltip, Typography } from '@mui/material';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';

import { api, unwrap } from '../api/client';
import { ApiProblem, sentence, UNREACHABLE } from '../api/problem';
import type { Schemas } from '../api/types';
import { StateChip } from '../shared/StateChip';
import { VISUALLY_HIDDEN } from '../shared/visuallyHidden';

type ComponentHealth = Schemas['ComponentHealthRead'];

/** A component that is frozen is down after two seconds in the API, so the page shows it within five seconds. */
const REFRESH_MS = 2_000;
/** The API answers within this time, even while a component is frozen. */
const ANSWER_MS_MAX = 8_000;

export const COMPONENT_TITLES: Record<ComponentHealth['component'], string> = {
  postgres: 'Postgres', redis: 'Redis', workers: 'Workers', beat: 'Beat', storage: 'Data directory', drivers: 'Drivers',
};

interface PlatformHealth {
  components: readonly ComponentHealth[];
  /** Whether the API answers. */
  reachable: boolean;
}

/** Return the health of the components, or null before the first answer. While Postgres is down, the API knows only that Postgres is down. */
export function platformHealth({ data, error }: Pick<UseQueryResult<readonly ComponentHealth[]>, 'data' | 'error'>): PlatformHealth | null {
  if (error === null) return data === undefined ? null : { components: data, reachable: true };
  const problem = error instanceof ApiProblem ? error : UNREACHABLE;
  if (problem.code === 'database') {
    return { components: [{ component: 'postgres', status: 'down', detail: problem.detail, next_step: problem.nextStep, up_at: null }], reachable: true };
  }
  return { components: [], reachable: !problem.unreachable };
}

function usePlatformHealth(): PlatformHealth | null {
  return platformHealth(useQuery({
    queryKey: ['platform'],
    refetchInterval: REFRESH_MS,
    retry: false,
    queryFn: async ({ signal }) => (await unwrap(api.GET('/api/v1/platform', { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]) }))).components,
  }));
}

const downOf = (health: PlatformHealth | null): readonly ComponentHealth[] => health?.components.filter(({ status }) => status === 'down') ?? [];

function names(down: readonly ComponentHealth[]): string {
  return down.map(({ component }) => COMPONENT_TITLES[component]).join(', ');
}

/** A banner on every page, with one sentence for each component that is down. Each page shows itself whether the API answers. */
export function PlatformBanner() {
  const down = downOf(usePlatformHealth());
  if (down.length === 0) return null;
  return (
    // The sentences change every second, and are outside of the element with the status role, because a screen reader would announce each change.
    <Alert severity="error" role="none" square sx={{ position: 'sticky', top: 0, zIndex: 2 }}>
      <Box component="span" role="status" sx={VISUALLY_HIDDEN}>Down: {names(down)}.</Box>
      {down.map(({ component, detail, next_step }) => <div key={component}>{sentence(detail)} {next_step}</div>)}
      Running jobs continue, but operations wait, and this page can be out of date.
    </Alert>
  );
}

/** A button in the app bar, which shows whether all components are up, and opens the list of components. */
export function PlatformButton() {
  const health = usePlatformHealth();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const down = downOf(health);
  const label = health === null ? 'Platform: checking' : !health.reachable ? 'Platform: the API does not answer' : down.length > 0 ? `Platform: ${names(down)} down` : 'Platform: all components are up';
  const healthy = health?.reachable !== false && down.length === 0;
  return (
    <>
      <Tooltip title={label}>
        <IconButton color="inherit" size="small" aria-label={label} aria-haspopup="dialog" onClick={(event) => setAnchor(event.currentTarget)}>
          {healthy ? <CheckCircleIcon fontSize="small" /> : <ErrorIcon fontSize="small" />}
        </IconButton>
      </Tooltip>
      <Popover open={anchor !== null} anchorEl={anchor} onClose={() => setAnchor(null)} anchorOrigin={{ vertical: 'bottom', horizontal: 'right' }} transformOrigin={{ vertical: 'top', horizontal: 'right' }} slotProps={{ paper: { role: 'dialog', 'aria-label': 'Platform', sx: { maxWidth: 560 } } }}>
        <Table size="small" aria-label="Components">
          <TableBody>
            <Row title="API" status={health?.reachable === false ? 'down' : 'up'} detail={health?.reachable === false ? UNREACHABLE.message : 'The API answers.'} />
            {health?.components.map(({ component, status, detail, next_step }) => (
              <Row key={component} title={COMPONENT_TITLES[component]} status={status} detail={`${sentence(detail)} ${next_step}`} />
            ))}
          </TableBody>
        </Table>
      </Popover>
    </>
  );
}

function Row({ title, status, detail }: { title: string; status: ComponentHealth['status']; detail: string }) {
  return (
    <TableRow>
      <TableCell component="th" scope="row" sx={{ whiteSpace: 'nowrap' }}>{title}</TableCell>
      <TableCell><StateChip kind="component" state={status} /></TableCell>
      <TableCell sx={{ overflowWrap: 'anywhere' }}><Typography variant="body2">{detail}</Typography></TableCell>
    </TableRow>
  );
}
