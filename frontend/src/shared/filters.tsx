/** Filter fields of a list. Each component sets one field of the list's filter. */
import { Box, Chip, InputAdornment, MenuItem, TextField } from '@mui/material';
import Search from '@mui/icons-material/Search';
import { useState } from 'react';
import { useListContext } from 'react-admin';

function useFilter<Value>(name: string): [Value | undefined, (value: Value | undefined, wait?: boolean) => void] {
  const { filterValues, setFilters } = useListContext();
  const values = filterValues as Record<string, unknown>;
  const set = (value: Value | undefined, wait = false): void => {
    const rest = Object.fromEntries(Object.entries(values).filter(([other]) => other !== name));
    setFilters(value === undefined ? rest : { ...rest, [name]: value }, undefined, wait);
  };
  return [values[name] as Value | undefined, set];
}

/** A text filter, which is applied when the user pauses typing. */
export function TextFilter({ name, label }: { name: string; label: string }) {
  const [value, setValue] = useFilter<string>(name);
  const [typed, setTyped] = useState(value ?? '');
  const [seen, setSeen] = useState(value);
  // If another component has cleared the filter, clear the typed text as well.
  if (value !== seen) {
    setSeen(value);
    if (value === undefined) setTyped('');
  }
  return (
    <TextField
      size="small"
      label={label}
      value={typed}
      onChange={({ target }) => {
        setTyped(target.value);
        setValue(target.value.trim() || undefined, true);
      }}
      sx={{ width: 200 }}
      slotProps={{ input: { startAdornment: <InputAdornment position="start"><Search fontSize="small" /></InputAdornment> } }}
    />
  );
}

interface Choice {
  value: string | boolean;
  label: string;
}

/** A filter with a few choices. */
export function SelectFilter({ name, label, allLabel, choices, width = 160 }: { name: string; label: string; allLabel: string; choices: readonly Choice[]; width?: number }) {
  const [value, setValue] = useFilter<string | boolean>(name);
  return (
    <TextField
      select
      size="small"
      label={label}
      value={value === undefined ? '' : String(value)}
      onChange={({ target }) => setValue(choices.find((one) => String(one.value) === target.value)?.value)}
      sx={{ width }}
      slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}
    >
      <MenuItem value="">{allLabel}</MenuItem>
      {choices.map((one) => <MenuItem key={String(one.value)} value={String(one.value)}>{one.label}</MenuItem>)}
    </TextField>
  );
}

type LabelMap = Record<string, string>;

/** The labels of a row. Selecting a label filters the list by this label. */
export function Labels({ labels }: { labels: LabelMap }) {
  const [wanted, setWanted] = useFilter<LabelMap>('labels');
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 0.5 }}>
      {Object.entries(labels).map(([key, value]) => (
        <Chip
          key={key}
          size="small"
          variant="outlined"
          label={`${key}=${value}`}
          onClick={(event) => {
            event.stopPropagation(); // a click on the row opens the job
            setWanted({ ...wanted, [key]: value });
          }}
        />
      ))}
    </Box>
  );
}

/** The labels by which the list is filtered. Deleting a label removes it from the filter. */
export function LabelFilter() {
  const [wanted, setWanted] = useFilter<LabelMap>('labels');
  const entries = Object.entries(wanted ?? {});
  return entries.map(([key, value]) => {
    const others = entries.filter(([other]) => other !== key);
    return <Chip key={key} label={`${key}=${value}`} onDelete={() => setWanted(others.length > 0 ? Object.fromEntries(others) : undefined)} />;
  });
}
