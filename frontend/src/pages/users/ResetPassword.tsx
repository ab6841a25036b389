import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle } from '@mui/material';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify, useRefresh } from 'react-admin';

import { unwrap, api, ifMatch } from '../../api/client';
import type { Schemas } from '../../api/types';
import { Secret } from '../../shared/Secret';
import { generatePassword } from './roles';

/** Generates a password, sets it after confirmation, and shows it once. */
export function ResetPassword({ user }: { user: Schemas['UserRead'] }) {
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const notify = useNotify();
  const refresh = useRefresh();
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const password = generatePassword();
      await unwrap(api.PATCH('/api/v1/users/{user_id}', { params: { path: { user_id: user.id }, header: ifMatch(user.version) }, body: { password } }));
      return password;
    },
    onSuccess: setMade,
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  const close = (): void => {
    setOpen(false);
    if (made !== null) refresh();
    setMade(null);
  };
  // Keep the dialog open during the request, because the user would otherwise never see the new password.
  const canClose = made === null && !isPending;
  return (
    <>
      <Button size="small" variant="outlined" onClick={() => setOpen(true)}>{user.has_password ? 'Reset password' : 'Set password'}</Button>
      <Dialog open={open} onClose={canClose ? close : undefined} maxWidth="sm" fullWidth aria-labelledby="reset-password">
        <DialogTitle id="reset-password">{made === null ? `Set a new password for ${user.name}?` : `New password of ${user.name}`}</DialogTitle>
        <DialogContent>
          {made === null
            ? <DialogContentText>Weir generates a password and shows it to you once. All sessions of the user end, but API tokens stay valid.</DialogContentText>
            : <Secret label="Password" value={made} />}
        </DialogContent>
        <DialogActions>
          {made === null ? (
            <>
              <Button disabled={!canClose} onClick={close}>Cancel</Button>
              <Button variant="contained" disabled={isPending} onClick={() => mutate()}>Generate password</Button>
            </>
          ) : <Button onClick={close}>Done</Button>}
        </DialogActions>
      </Dialog>
    </>
  );
}
