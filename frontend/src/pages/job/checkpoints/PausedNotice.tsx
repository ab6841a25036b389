import { Button } from '@mui/material';
import { startTransition, useEffect } from 'react';
import { useListContext, useStore, type Identifier } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { useJob } from '../useJob';

type Checkpoint = Schemas['CheckpointRead'];

interface Props {
  /** The id of the newest checkpoint in the paused list. Null if the list is live. */
  pausedAt: number | null;
  onPause: (pausedAt: number | null) => void;
}

/**
 * Pauses the list of checkpoints while a row is expanded, because new checkpoints would move the row. The notice has a button that collapses the
 * row and resumes the list.
 */
export function PausedNotice({ pausedAt, onPause }: Props) {
  const { last_checkpoint } = useJob();
  const { data = [], sort, setPage, filterValues } = useListContext<Checkpoint>();
  const [expanded, collapseAll] = useStore<Identifier[]>('checkpoints.datagrid.expanded', []);
  const ref = useFocusHandoff();
  const first = data[0];
  // New checkpoints move the rows only if the list shows the newest checkpoints first.
  const newestFirst = sort.field === 'number' && sort.order === 'DESC';
  const open = newestFirst && data.some(({ id }) => expanded.includes(id));
  useEffect(() => {
    if (open === (pausedAt !== null) || !first) return;
    // Pause the list in a transition, because React is still rendering the details of the expanded row.
    startTransition(() => {
      onPause(open ? first.id : null);
      // The paused list starts at the first row of the current page, so show page 1 of the paused list.
      if (open) setPage(1);
    });
  }, [first, onPause, open, setPage, pausedAt]);
  // If a filter is active, the number of new checkpoints that match the filter is unknown.
  const countable = Object.keys(filterValues as object).length === 0;
  const newer = pausedAt === null || !first || !last_checkpoint || !countable ? 0 : last_checkpoint.number - first.number;
  return newer <= 0 ? null : <Button ref={ref} size="small" onClick={() => collapseAll([])}>Show {newer} newer</Button>;
}
