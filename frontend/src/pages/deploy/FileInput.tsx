import { Box, Button } from '@mui/material';
import { useState } from 'react';

import { bytes } from '../../format';

interface Props {
  file: File | null;
  /** Describes the file that is used if the user chooses no file. Null if there is no default file. */
  defaultFile: string | null;
  problem: string | undefined;
  onChoose(file: File): void;
}

/** A file field with a drop zone. */
export function FileInput({ file, defaultFile, problem, onChoose }: Props) {
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
      {/* The file input is invisible, so the button shows the focus ring of the input. */}
      <Button component="label" role={undefined} tabIndex={-1} variant="outlined" size="small" sx={{ '&:has(:focus-visible)': { outline: '2px solid', outlineColor: 'primary.main', outlineOffset: 2 } }}>
        {file || defaultFile ? 'Choose another file' : 'Choose file'}
        <input
          type="file"
          accept=".py,.zip,.whl"
          aria-label="Job file"
          style={{ position: 'absolute', width: 1, height: 1, opacity: 0, overflow: 'hidden' }}
          onChange={({ target }) => {
            const [chosen] = target.files ?? [];
            if (chosen) onChoose(chosen);
          }}
        />
      </Button>
      <Box sx={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        {file ? <><strong>{file.name}</strong>, {bytes(file.size)}</> : defaultFile ? <>{defaultFile}</> : 'Choose or drop a .py file with the job function, or an archive (.whl, .zip) with the package of the job function.'}
        {problem && <Box role="alert" sx={{ color: 'error.main', fontSize: '0.8rem' }}>{problem}</Box>}
      </Box>
    </Box>
  );
}
