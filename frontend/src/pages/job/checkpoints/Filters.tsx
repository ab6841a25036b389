import { ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useListContext } from 'react-admin';

/** What each of them asks the API for. Those that are switched on hold together. */
const FILTERS = { Failed: { state: 'FAILED' }, Savepoints: { is_savepoint: true }, Pinned: { pinned: true } } as const;
type Name = keyof typeof FILTERS;
const NAMES = Object.keys(FILTERS) as Name[];

/** Leaves a few of hundreds: those that somebody looks for when something has gone wrong, and those that are kept on purpose. */
export function Filters() {
  const { filterValues, setFilters } = useListContext();
  const chosen = NAMES.filter((name) => Object.keys(FILTERS[name]).every((field) => field in filterValues));
  return (
    <ToggleButtonGroup size="small" aria-label="Only" value={chosen} onChange={(_, names: Name[]) => setFilters(Object.assign({}, ...names.map((name) => FILTERS[name])) as object)}>
      {NAMES.map((name) => <ToggleButton key={name} value={name} sx={{ py: 0.25, textTransform: 'none' }}>{name}</ToggleButton>)}
    </ToggleButtonGroup>
  );
}
