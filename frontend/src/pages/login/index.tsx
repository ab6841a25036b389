import { Alert, Box, Button, Divider, Paper, TextField, Typography } from '@mui/material';
import { useEffect, useState, type FormEvent } from 'react';
import { useLogin } from 'react-admin';

import { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { visit } from '../../auth/session';
import { Mark } from '../../layout/Mark';

export function LogIn() {
  const logIn = useLogin();
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const oidc = useOidc();
  useEffect(() => {
    document.title = 'Log in · Weir';
  }, []);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setProblem(null);
    try {
      await logIn({ username: String(form.get('name')), password: String(form.get('password')) });
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error.message : 'That did not work. Try again.');
      setBusy(false);
    }
  };

  return (
    <Box component="main" sx={{ minHeight: '100vh', display: 'grid', placeItems: 'center', p: 2, bgcolor: 'background.default' }}>
      <Paper component="form" onSubmit={(event: FormEvent<HTMLFormElement>) => void submit(event)} sx={{ p: 4, width: '100%', maxWidth: 380 }}>
        <Box sx={{ display: 'flex', alignItems: 'center', gap: 1.5, mb: 2.5 }}>
          <Mark size={34} />
          <Box>
            <Typography variant="h1">Log in to Weir</Typography>
            <Typography color="text.secondary">Checkpointed streaming jobs</Typography>
          </Box>
        </Box>
        {problem && <Alert severity="error" variant="outlined" sx={{ mb: 1 }}>{problem}</Alert>}
        {/* The only thing to do here, so the keyboard may begin with it. */}
        {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
        <TextField name="name" label="Name" autoComplete="username" autoFocus required fullWidth margin="normal" />
        <TextField name="password" label="Password" type="password" autoComplete="current-password" required fullWidth margin="normal" />
        <Button type="submit" variant="contained" fullWidth size="large" disabled={busy} sx={{ mt: 2 }}>
          {busy ? 'Logging in …' : 'Log in'}
        </Button>
        {oidc && (
          <>
            <Divider sx={{ my: 2, color: 'text.secondary' }}>or</Divider>
            {/* A link: the whole page leaves for the provider, and comes back from it. */}
            <Button href={oidc.begin} variant="outlined" fullWidth size="large">Log in with {oidc.name}</Button>
          </>
        )}
      </Paper>
    </Box>
  );
}

/** The provider of OpenID Connect; null: there is none, or it is not known whether there is. */
function useOidc(): Schemas['OidcView'] | null {
  const [oidc, setOidc] = useState<Schemas['OidcView'] | null>(null);
  useEffect(() => {
    let here = true;
    visit().then(
      (found) => here && setOidc(found.oidc),
      // Who is out of reach is said when somebody tries to log in.
      () => undefined,
    );
    return () => {
      here = false;
    };
  }, []);
  return oidc;
}
