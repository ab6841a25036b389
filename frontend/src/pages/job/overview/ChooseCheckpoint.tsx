import { Autocomplete, TextField } from '@mui/material';
import { useState } from 'react';
import { useGetList } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { absolute, duration } from '../../../format';
import { words } from '../../../shared/State';
import { useJob } from '../useJob';

type Checkpoint = Schemas['CheckpointBody'];
const LISTED = 50;

/** Any stored checkpoint: of the newest ones, or by its number. Nothing where none can be replayed. */
export function ChooseCheckpoint({ onChoose }: { onChoose: (checkpointId: number) => void }) {
  const { id } = useJob();
  const [typed, type] = useState('');
  const number = /^\d{1,15}$/.test(typed) ? Number(typed) : null;
  const { data = [], total = 0, isPending } = useGetList<Checkpoint>('checkpoints', {
    filter: { job_id: id, ...(number === null ? {} : { number }) },
    sort: { field: 'number', order: 'DESC' },
    pagination: { page: 1, perPage: LISTED },
  });
  const options = data.filter(({ state, acknowledged }) => state !== 'IN_PROGRESS' && acknowledged > 0);
  // Of more than are listed one may be found by its number all the same.
  if (typed === '' && options.length === 0 && total <= LISTED) return null;
  return (
    <Autocomplete
      size="small"
      // It is a way to somewhere: nothing stays chosen in it.
      value={null}
      inputValue={typed}
      onInputChange={(_, text, reason) => type(reason === 'input' ? text : '')}
      onChange={(_, chosen) => chosen && onChoose(chosen.id)}
      options={options}
      filterOptions={(options) => options}
      loading={isPending}
      noOptionsText={number === null ? 'There is none yet' : `There is no checkpoint ${number} to be replayed`}
      getOptionKey={(one) => one.id}
      getOptionLabel={(one) => `${one.number}`}
      renderOption={({ key, ...props }, one) => (
        <li key={key} {...props} style={{ fontVariantNumeric: 'tabular-nums' }}>
          {one.number}, {one.state === 'COMPLETED' ? duration(one.end_to_end_ms) : words(one.state)}, {one.is_savepoint ? 'savepoint, ' : ''}{absolute(one.triggered_at)}
        </li>
      )}
      renderInput={(params) => <TextField {...params} label="Replay a checkpoint" placeholder="number" />}
      slotProps={{ popper: { sx: { minWidth: 330 }, placement: 'bottom-end' } }}
      sx={{ width: 190 }}
    />
  );
}
