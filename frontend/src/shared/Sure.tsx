import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle } from '@mui/material';
import { useId } from 'react';

interface Props {
  title: string;
  /** What it would come to. */
  what: string;
  /** On the button that does it. Of two things that may be called “cancel” this names the one that is done: `Cancel the job`. */
  does: string;
  /** It takes away what nothing brings back: who presses Enter without reading has left it. */
  final?: boolean;
  /** It was confirmed, and is on its way. */
  busy: boolean;
  onConfirm(): void;
  onClose(): void;
}

/** Asks before something is done. The word for not doing it is the same in every dialog. */
export function Sure({ title, what, does, final = false, busy, onConfirm, onClose }: Props) {
  const heading = useId();
  return (
    <Dialog open onClose={onClose} aria-labelledby={heading}>
      <DialogTitle id={heading}>{title}</DialogTitle>
      <DialogContent><DialogContentText>{what}</DialogContentText></DialogContent>
      <DialogActions>
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog takes the keyboard, and this is where it does least */}
        <Button autoFocus={final} disabled={busy} onClick={onClose}>Leave it</Button>
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- as above */}
        <Button autoFocus={!final} variant={final ? 'outlined' : 'contained'} color={final ? 'error' : 'primary'} loading={busy} onClick={onConfirm}>{does}</Button>
      </DialogActions>
    </Dialog>
  );
}
