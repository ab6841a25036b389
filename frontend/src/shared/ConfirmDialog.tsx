import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle } from '@mui/material';
import { useId, type ReactNode } from 'react';

export interface ConfirmDialogProps {
  title: string;
  /** A text that describes the consequences of the action. */
  description: string;
  /** The label of the confirming button, which is a verb and its object, such as `Cancel job`. */
  confirmLabel: string;
  /** The label of the button that closes the dialog. The label `Cancel` would be ambiguous if the action itself cancels something. */
  dismissLabel?: string;
  /** Whether the action is destructive. For a destructive action, the button that closes the dialog has the initial focus. */
  destructive?: boolean;
  /** Whether the request to do the action is in progress. */
  busy: boolean;
  onConfirm(): void;
  onClose(): void;
  /** Options of the action, which are shown below the description. */
  children?: ReactNode;
}

/** Asks for confirmation of an action. */
export function ConfirmDialog({ title, description, confirmLabel, dismissLabel = 'Cancel', destructive = false, busy, onConfirm, onClose, children }: ConfirmDialogProps) {
  const heading = useId();
  return (
    <Dialog open onClose={onClose} aria-labelledby={heading}>
      <DialogTitle id={heading}>{title}</DialogTitle>
      <DialogContent>
        <DialogContentText>{description}</DialogContentText>
        {children}
      </DialogContent>
      <DialogActions>
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog takes the focus, and this button gets the focus if the action is destructive */}
        <Button autoFocus={destructive} disabled={busy} onClick={onClose}>{dismissLabel}</Button>
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog takes the focus, and this button gets the focus unless the action is destructive */}
        <Button autoFocus={!destructive} variant={destructive ? 'outlined' : 'contained'} color={destructive ? 'error' : 'primary'} loading={busy} onClick={onConfirm}>{confirmLabel}</Button>
      </DialogActions>
    </Dialog>
  );
}
