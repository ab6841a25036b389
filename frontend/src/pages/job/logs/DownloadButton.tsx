import { Button } from '@mui/material';
import { useState } from 'react';
import { useNotify } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { downloadLog, logReader } from './runLog';

/** Saves the whole log of a run as a file. */
export function DownloadButton({ run }: { run: Schemas['RunRead'] }) {
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const download = async (): Promise<void> => {
    setBusy(true);
    try {
      const url = URL.createObjectURL(await downloadLog(logReader(run.id)));
      Object.assign(document.createElement('a'), { href: url, download: `driver-run-${run.number}.log` }).click();
      URL.revokeObjectURL(url);
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), { type: 'error' });
    }
    setBusy(false);
  };
  return <Button size="small" aria-disabled={isBusy} onClick={() => !isBusy && void download()}>{isBusy ? 'Downloading…' : 'Download'}</Button>;
}
