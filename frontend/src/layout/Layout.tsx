import { Layout as RaLayout, type LayoutProps, useLogoutIfAccessDenied } from 'react-admin';
import { Box } from '@mui/material';
import { type ComponentProps, useEffect } from 'react';

import { onSessionEnded } from '../api/transport';
import { ErrorState } from '../shared/DataStates';
import { AppBar } from './AppBar';
import { Menu } from './Menu';
import { PlatformBanner } from './PlatformHealth';

export function Layout({ children, ...props }: LayoutProps) {
  return (
    <RaLayout
      {...props}
      appBar={AppBar}
      appBarAlwaysOn
      menu={Menu}
      error={ErrorPage}
      // The app bar is always 48 px high. Content that is wider than the page, such as a graph, scrolls inside its own box.
      sx={{ minWidth: 0, '& .RaLayout-content': { p: 0, minWidth: 0 }, '& .RaLayout-appFrame': { mt: '48px' }, '& .MuiDrawer-root, & .RaSidebar-fixed': { height: 'calc(100vh - 48px)' } }}
    >
      <LogoutOnSessionEnd />
      <PlatformBanner />
      {children}
    </RaLayout>
  );
}

type Props = ComponentProps<NonNullable<ComponentProps<typeof RaLayout>['error']>> & { resetErrorBoundary?: () => void };

/** Replaces a page that threw an error while rendering. The menu stays visible. */
function ErrorPage({ error, resetErrorBoundary }: Props) {
  return (
    <Box sx={{ p: 2 }}>
      <ErrorState error={error} onRetry={resetErrorBoundary} />
    </Box>
  );
}

/**
 * Opens the log-in page when a response to any request or stream shows that the session has ended. After the log-in, the user returns to the same
 * page as before.
 */
function LogoutOnSessionEnd() {
  const logOutIfOver = useLogoutIfAccessDenied();
  useEffect(() => onSessionEnded((problem) => void logOutIfOver(problem)), [logOutIfOver]);
  return null;
}
