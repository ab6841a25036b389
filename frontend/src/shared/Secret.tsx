import { Alert, Box, Button, TextField } from '@mui/material';
import ContentCopy from '@mui/icons-material/ContentCopy';
import { useRef, useState, type RefObject } from 'react';

/** Shows a secret once, with a button to copy it. */
export function Secret({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [status, setStatus] = useState<string | null>(null);
  const copy = async (): Promise<void> => setStatus((await copyToClipboard(value, field)) ? 'Copied' : 'The value is selected. Copy it with Ctrl+C or ⌘C');
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 1 }}>
      <Alert severity="info" variant="outlined">This value is shown only once. Store the value safely, because Weir keeps only its hash.</Alert>
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
      <Box role="status" sx={{ color: 'text.secondary', minHeight: '1.5em' }}>{status}</Box>
    </Box>
  );
}

/**
 * Copy the value to the clipboard. If the browser blocks the clipboard, select the value and return false. Browsers block the clipboard over plain
 * HTTP.
 */
async function copyToClipboard(value: string, field: RefObject<HTMLInputElement | null>): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    field.current?.focus();
    field.current?.select();
    return false;
  }
}
