import { Button } from '@mui/material';
import { startTransition, useEffect } from 'react';
import { useListContext, useStore, type Identifier } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { counted } from '../../../format';
import { useHandOver } from '../../../shared/useHandOver';
import { useJob } from '../useJob';

type Checkpoint = Schemas['CheckpointBody'];

interface Props {
  /** Id of the newest one that is shown; null: whatever comes is shown. */
  upTo: number | null;
  onHold: (upTo: number | null) => void;
}

/**
 * What somebody looks into stays where it is: a job may take a checkpoint each second, and ten of them are a page. Newer ones wait until it is
 * folded again.
 */
export function HeldStill({ upTo, onHold }: Props) {
  const { last_checkpoint } = useJob();
  const { data = [], sort, setPage, filterValues } = useListContext<Checkpoint>();
  const [unfolded, unfold] = useStore<Identifier[]>('checkpoints.datagrid.expanded', []);
  const ref = useHandOver();
  const first = data[0];
  // In any other order those that come do not push away what is there.
  const newestFirst = sort.field === 'number' && sort.order === 'DESC';
  const open = newestFirst && data.some(({ id }) => unfolded.includes(id));
  useEffect(() => {
    if (open === (upTo !== null) || !first) return;
    // Not in the task of the click, which has the detail to draw.
    startTransition(() => {
      onHold(open ? first.id : null);
      // What is held begins with the page that it was on.
      if (open) setPage(1);
    });
  }, [first, onHold, open, setPage, upTo]);
  // How many of those that come are of the kind that is asked for nobody knows.
  const countable = Object.keys(filterValues as object).length === 0;
  const newer = upTo === null || !first || !last_checkpoint || !countable ? 0 : last_checkpoint.number - first.number;
  return newer <= 0 ? null : <Button ref={ref} size="small" onClick={() => unfold([])}>Show {counted(newer, 'newer one')}</Button>;
}
