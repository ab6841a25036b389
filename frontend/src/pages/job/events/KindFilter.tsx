import { Autocomplete, TextField } from '@mui/material';

import { KINDS, groupOf } from './eventKinds';

/** Filters the event log by kind of event. An empty filter matches all kinds. Users can also type kinds that are not listed. */
export function KindFilter({ chosen, onChoose }: { chosen: readonly string[]; onChoose: (kinds: readonly string[]) => void }) {
  return (
    <Autocomplete
      multiple
      freeSolo
      disableCloseOnSelect
      limitTags={2}
      size="small"
      options={KINDS}
      groupBy={groupOf}
      value={[...chosen]}
      onChange={(_, kinds) => onChoose(kinds.map((kind) => kind.trim()).filter(Boolean))}
      sx={{ width: 380 }}
      renderInput={(props) => <TextField {...props} label="Kinds" placeholder={chosen.length === 0 ? 'all' : ''} slotProps={{ inputLabel: { shrink: true } }} />}
    />
  );
}
