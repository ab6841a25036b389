import { Autocomplete, TextField } from '@mui/material';

import { KINDS, subjectOf } from './kinds';

/** Which kinds of events are listed; none chosen: all. What is not among the known ones can be typed. */
export function KindFilter({ chosen, onChoose }: { chosen: readonly string[]; onChoose: (kinds: readonly string[]) => void }) {
  return (
    <Autocomplete
      multiple
      freeSolo
      disableCloseOnSelect
      limitTags={2}
      size="small"
      options={KINDS}
      groupBy={subjectOf}
      value={[...chosen]}
      onChange={(_, kinds) => onChoose(kinds.map((kind) => kind.trim()).filter(Boolean))}
      sx={{ width: 380 }}
      renderInput={(props) => <TextField {...props} label="Kinds" placeholder={chosen.length === 0 ? 'all' : ''} slotProps={{ inputLabel: { shrink: true } }} />}
    />
  );
}
