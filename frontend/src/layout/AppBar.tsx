import { Box, ListItemText, MenuItem, Typography } from '@mui/material';
import { AppBar as RaAppBar, Logout, ToggleThemeButton, useGetIdentity, UserMenu, useUserMenu } from 'react-admin';
import { Link } from 'react-router-dom';

import { useCan } from '../auth/permissions';
import { Logo } from './Logo';
import { CommandButton } from './palette/CommandButton';
import { PlatformButton } from './PlatformHealth';

export function AppBar() {
  const { data } = useGetIdentity();
  return (
    <RaAppBar userMenu={<UserMenu label={data ? `${data.fullName}: account` : 'Account'}><Account /><Logout /></UserMenu>} toolbar={<ToggleThemeButton />}>
      <Box component={Link} to="/" sx={{ display: 'flex', alignItems: 'center', gap: 1, color: 'inherit', textDecoration: 'none' }}>
        <Logo />
        <Typography component="span" sx={{ fontWeight: 700, letterSpacing: '0.01em' }}>Weir</Typography>
      </Box>
      <Box sx={{ flex: 1 }} />
      <CommandButton />
      <PlatformButton />
    </RaAppBar>
  );
}

/** A menu item that leads administrators to their own account, and all other users to their tokens and sessions. */
function Account() {
  const { data } = useGetIdentity();
  const menu = useUserMenu();
  const [to, label] = useCan('administer') ? [`/users/${data?.id}`, 'Your account'] : ['/tokens', 'Your tokens and sessions'];
  if (!data) return null;
  return (
    <MenuItem component={Link} to={to} onClick={() => menu?.onClose()}>
      <ListItemText primary={label} secondary={data.role as string} />
    </MenuItem>
  );
}
