import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle } from '@mui/material';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify, useRefresh } from 'react-admin';

import { answered, api, ifMatch } from '../../api/client';
import type { Schemas } from '../../api/types';
import { Secret } from '../../shared/Secret';
import { newPassword } from './roles';

/** A password is made up and shown once. It is sent, and counts, when somebody says so. */
export function ResetPassword({ user }: { user: Schemas['UserView'] }) {
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const notify = useNotify();
  const refresh = useRefresh();
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const password = newPassword();
      await answered(api.PATCH('/api/v1/users/{user_id}', { params: { path: { user_id: user.id }, header: ifMatch(user.version) }, body: { password } }));
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
  // Who went while it is asked for would not know to what it was changed.
  const leaves = made === null && !isPending;
  return (
    <>
      <Button size="small" variant="outlined" onClick={() => setOpen(true)}>{user.has_password ? 'Reset the password' : 'Give a password'}</Button>
      <Dialog open={open} onClose={leaves ? close : undefined} maxWidth="sm" fullWidth aria-labelledby="reset-password">
        <DialogTitle id="reset-password">{made === null ? `A new password for ${user.name}?` : `The new password of ${user.name}`}</DialogTitle>
        <DialogContent>
          {made === null
            ? <DialogContentText>One is made up and shown to you once, for you to hand on. All sessions of the account end; tokens for programs go on. Whose it is can change it.</DialogContentText>
            : <Secret label="Password" value={made} />}
        </DialogContent>
        <DialogActions>
          {made === null ? (
            <>
              <Button disabled={!leaves} onClick={close}>Leave it</Button>
              <Button variant="contained" disabled={isPending} onClick={() => mutate()}>Make a new one</Button>
            </>
          ) : <Button onClick={close}>I have it</Button>}
        </DialogActions>
      </Dialog>
    </>
  );
}
