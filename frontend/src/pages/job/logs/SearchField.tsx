import { InputAdornment, TextField } from '@mui/material';
import Search from '@mui/icons-material/Search';
import { useEffect, useEffectEvent, useState } from 'react';

/** The search is applied when the user has not typed for this time. */
const TYPING_MS = 300;

export function SearchField({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const [seen, setSeen] = useState(text);
  // If another component has changed the filter, show the new filter.
  if (text !== seen) {
    setSeen(text);
    setTyped(text);
  }
  const apply = useEffectEvent(() => {
    if (typed !== text) onSearch(typed);
  });
  useEffect(() => {
    const timer = setTimeout(() => apply(), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <TextField
      label="Search"
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
      sx={{ width: 220 }}
      slotProps={{ input: { startAdornment: <InputAdornment position="start"><Search fontSize="small" /></InputAdornment> } }}
    />
  );
}
