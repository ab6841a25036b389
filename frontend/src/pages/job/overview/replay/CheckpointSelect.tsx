import { Autocomplete, TextField } from '@mui/material';
import { useState } from 'react';
import { useGetList } from 'react-admin';

import type { Schemas } from '../../../../api/types';
import { absolute, duration } from '../../../../format';
import { stateLabel } from '../../../../shared/StateChip';
import { useJob } from '../../useJob';

type Checkpoint = Schemas['CheckpointRead'];
const LIST_SIZE = 50;

/** Selects a stored checkpoint, from a list of the newest checkpoints or by its number. Renders nothing if no checkpoint can be replayed. */
export function CheckpointSelect({ onSelect }: { onSelect: (checkpointId: number) => void }) {
  const { id } = useJob();
  const [input, setInput] = useState('');
  const number = /^\d{1,15}$/.test(input) ? Number(input) : null;
  const { data = [], total = 0, isPending } = useGetList<Checkpoint>('checkpoints', {
    filter: { job_id: id, ...(number === null ? {} : { number }) },
    sort: { field: 'number', order: 'DESC' },
    pagination: { page: 1, perPage: LIST_SIZE },
  });
  const options = data.filter(({ state, acknowledged }) => state !== 'IN_PROGRESS' && acknowledged > 0);
  // If the list does not contain all checkpoints, users can enter the number of a checkpoint.
  if (input === '' && options.length === 0 && total <= LIST_SIZE) return null;
  return (
    <Autocomplete
      size="small"
      // Selecting a checkpoint starts its replay, and the field stays empty.
      value={null}
      inputValue={input}
      onInputChange={(_, text, reason) => setInput(reason === 'input' ? text : '')}
      onChange={(_, option) => option && onSelect(option.id)}
      options={options}
      filterOptions={(options) => options}
      loading={isPending}
      noOptionsText={number === null ? 'No checkpoints yet' : `Checkpoint ${number} cannot be replayed`}
      getOptionKey={(one) => one.id}
      getOptionLabel={(one) => `${one.number}`}
      renderOption={({ key, ...props }, one) => (
        <li key={key} {...props} style={{ fontVariantNumeric: 'tabular-nums' }}>
          {one.number}, {one.state === 'COMPLETED' ? duration(one.end_to_end_ms) : stateLabel(one.state)}, {one.is_savepoint ? 'savepoint, ' : ''}{absolute(one.triggered_at)}
        </li>
      )}
      renderInput={(params) => <TextField {...params} label="Replay checkpoint" placeholder="number" />}
      slotProps={{ popper: { sx: { minWidth: 330 }, placement: 'bottom-end' } }}
      sx={{ width: 190 }}
    />
  );
}
