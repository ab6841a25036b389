import { Layout as RaLayout, type LayoutProps } from 'react-admin';

import { AppBar } from './AppBar';
import { Menu } from './Menu';
import { SessionWatch } from './SessionWatch';
import { Trouble } from './Trouble';

export function Layout({ children, ...props }: LayoutProps) {
  return (
    <RaLayout
      {...props}
      appBar={AppBar}
      appBarAlwaysOn
      menu={Menu}
      error={Trouble}
      // The bar is 48 px high, in whatever size letters are; what is wider than the page (a graph) scrolls in its own place.
      sx={{ minWidth: 0, '& .RaLayout-content': { p: 0, minWidth: 0 }, '& .RaLayout-appFrame': { mt: '48px' }, '& .MuiDrawer-root, & .RaSidebar-fixed': { height: 'calc(100vh - 48px)' } }}
    >
      <SessionWatch />
      {children}
    </RaLayout>
  );
}
