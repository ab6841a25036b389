import { Box, Typography } from '@mui/material';
import { AppBar as RaAppBar, ToggleThemeButton, useGetIdentity, UserMenu } from 'react-admin';
import { Link } from 'react-router-dom';

import { Mark } from './Mark';

export function AppBar() {
  const { data } = useGetIdentity();
  return (
    <RaAppBar userMenu={<UserMenu label={data ? `${data.fullName}: account` : 'Account'} />} toolbar={<ToggleThemeButton />}>
      <Box component={Link} to="/" sx={{ display: 'flex', alignItems: 'center', gap: 1, color: 'inherit', textDecoration: 'none' }}>
        <Mark />
        <Typography component="span" sx={{ fontWeight: 700, letterSpacing: '0.01em' }}>Weir</Typography>
      </Box>
      <Box sx={{ flex: 1 }} />
    </RaAppBar>
  );
}
