import { Alert, Box, Button, TextField } from '@mui/material';
import ContentCopy from '@mui/icons-material/ContentCopy';
import { useRef, useState, type RefObject } from 'react';

/** What is shown once, and never again: it can be copied by a button, and marked by hand where browsers do not let pages copy. */
export function Secret({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState<string | null>(null);
  const copy = async (): Promise<void> => setSaid((await copied(value, field)) ? 'Copied' : 'Marked: copy it with Ctrl+C or ⌘C');
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 1 }}>
      <Alert severity="info" variant="outlined">It is shown this once. Keep it where whoever needs it finds it: Weir has its hash only.</Alert>
      <Box sx={{ display: 'flex', gap: 1, alignItems: 'center' }}>
        <TextField
          label={label}
          value={value}
          inputRef={field}
          fullWidth
          size="small"
          onFocus={({ target }) => target.select()}
          slotProps={{ htmlInput: { readOnly: true, spellCheck: false }, input: { sx: { fontFamily: 'monospace' } } }}
        />
        <Button variant="contained" startIcon={<ContentCopy />} onClick={() => void copy()}>Copy</Button>
      </Box>
      <Box role="status" sx={{ color: 'text.secondary', minHeight: '1.5em' }}>{said}</Box>
    </Box>
  );
}

/** False: it is marked only. Over plain http browsers keep the clipboard to themselves. */
async function copied(value: string, field: RefObject<HTMLInputElement | null>): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    field.current?.focus();
    field.current?.select();
    return false;
  }
}
