import { Alert, Box, Button, Divider, Paper, TextField, Typography } from '@mui/material';
import { useEffect, useState, type FormEvent } from 'react';
import { useLogin } from 'react-admin';

import { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { fetchSessionStatus } from '../../auth/session';
import { Logo } from '../../layout/Logo';

export function LoginPage() {
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
      setProblem(error instanceof ApiProblem ? error.message : 'Login failed. Try again.');
      setBusy(false);
    }
  };

  return (
    <Box component="main" sx={{ minHeight: '100vh', display: 'grid', placeItems: 'center', p: 2, bgcolor: 'background.default' }}>
      <Paper component="form" onSubmit={(event: FormEvent<HTMLFormElement>) => void submit(event)} sx={{ p: 4, width: '100%', maxWidth: 380 }}>
        <Box sx={{ display: 'flex', alignItems: 'center', gap: 1.5, mb: 2.5 }}>
          <Logo size={34} />
          <Box>
            <Typography variant="h1">Log in to Weir</Typography>
            <Typography color="text.secondary">Checkpointed streaming jobs</Typography>
          </Box>
        </Box>
        {problem && <Alert severity="error" variant="outlined" sx={{ mb: 1 }}>{problem}</Alert>}
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the form is the only content of the page */}
        <TextField name="name" label="Name" autoComplete="username" autoFocus required fullWidth margin="normal" />
        <TextField name="password" label="Password" type="password" autoComplete="current-password" required fullWidth margin="normal" />
        <Button type="submit" variant="contained" fullWidth size="large" disabled={busy} sx={{ mt: 2 }}>
          {busy ? 'Logging in…' : 'Log in'}
        </Button>
        {oidc && (
          <>
            <Divider sx={{ my: 2, color: 'text.secondary' }}>or</Divider>
            {/* This button is a link, because the browser leaves the page and opens the provider's page. */}
            <Button href={oidc.login_path} variant="outlined" fullWidth size="large">Log in with {oidc.name}</Button>
          </>
        )}
      </Paper>
    </Box>
  );
}

/** Return the OpenID Connect provider. Null if no provider is configured, or if the response has not arrived yet. */
function useOidc(): Schemas['OidcProviderRead'] | null {
  const [oidc, setOidc] = useState<Schemas['OidcProviderRead'] | null>(null);
  useEffect(() => {
    let mounted = true;
    fetchSessionStatus().then(
      (status) => mounted && setOidc(status.oidc),
      // If the API is unreachable, the user sees the error when logging in.
      () => undefined,
    );
    return () => {
      mounted = false;
    };
  }, []);
  return oidc;
}
