import { Divider } from '@mui/material';
import { Menu as RaMenu } from 'react-admin';

import { usePages, type PageEntry } from './pages';

export function Menu() {
  const { main, secondary } = usePages();
  return (
    <RaMenu sx={{ pt: 1 }}>
      {main.map(menuItem)}
      {secondary.length > 0 && <Divider sx={{ my: 1 }} />}
      {secondary.map(menuItem)}
    </RaMenu>
  );
}

const menuItem = ({ path, label, icon }: PageEntry) => <RaMenu.Item key={path} to={path} primaryText={label} leftIcon={icon} />;
