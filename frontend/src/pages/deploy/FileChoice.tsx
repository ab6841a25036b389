import { Box, Button } from '@mui/material';
import { useState } from 'react';

import { bytes } from '../../format';

interface Props {
  file: File | null;
  /** What is used if none is chosen. */
  otherwise: string | null;
  problem: string | undefined;
  onChoose(file: File): void;
}

/** Chosen, or dropped here. */
export function FileChoice({ file, otherwise, problem, onChoose }: Props) {
  const [over, setOver] = useState(false);
  return (
    <Box
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const [dropped] = event.dataTransfer.files;
        if (dropped) onChoose(dropped);
      }}
      sx={{ border: '1.5px dashed', borderColor: problem ? 'error.main' : over ? 'primary.main' : 'divider', borderRadius: 1, px: 2, py: 1.75, display: 'flex', gap: 2, alignItems: 'center', flexWrap: 'wrap' }}
    >
      {/* The field itself cannot be seen, so the button shows that the keyboard is there. */}
      <Button component="label" role={undefined} tabIndex={-1} variant="outlined" size="small" sx={{ '&:has(:focus-visible)': { outline: '2px solid', outlineColor: 'primary.main', outlineOffset: 2 } }}>
        {file || otherwise ? 'Another file…' : 'Choose a file…'}
        <input
          type="file"
          accept=".py,.zip,.whl"
          aria-label="File of the job"
          style={{ position: 'absolute', width: 1, height: 1, opacity: 0, overflow: 'hidden' }}
          onChange={({ target }) => {
            const [chosen] = target.files ?? [];
            if (chosen) onChoose(chosen);
          }}
        />
      </Button>
      <Box sx={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        {file ? <><strong>{file.name}</strong>, {bytes(file.size)}</> : otherwise ? <>{otherwise}</> : 'A .py with the function that makes the job, or an archive (.whl, .zip) with its package. Or drop it here.'}
        {problem && <Box role="alert" sx={{ color: 'error.main', fontSize: '0.8rem' }}>{problem}</Box>}
      </Box>
    </Box>
  );
}
