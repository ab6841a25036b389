import HomeOutlined from '@mui/icons-material/HomeOutlined';
import HistoryOutlined from '@mui/icons-material/HistoryOutlined';
import KeyOutlined from '@mui/icons-material/KeyOutlined';
import NotificationsOutlined from '@mui/icons-material/NotificationsOutlined';
import PeopleOutlined from '@mui/icons-material/PeopleOutlined';
import RuleOutlined from '@mui/icons-material/RuleOutlined';
import WaterOutlined from '@mui/icons-material/WaterOutlined';
import WebhookOutlined from '@mui/icons-material/WebhookOutlined';
import { Divider } from '@mui/material';
import type { ReactElement } from 'react';
import { Menu as RaMenu, useResourceDefinitions } from 'react-admin';

import { useCan } from '../auth/permissions';

interface Entry {
  /** The resource's name. The menu shows the resource only if it has a list page. */
  resource: string;
  label: string;
  icon: ReactElement;
}

const MAIN: Entry[] = [
  { resource: 'jobs', label: 'Jobs', icon: <WaterOutlined /> },
  { resource: 'alerts', label: 'Alerts', icon: <NotificationsOutlined /> },
  { resource: 'alert-rules', label: 'Alert rules', icon: <RuleOutlined /> },
  { resource: 'webhooks', label: 'Webhooks', icon: <WebhookOutlined /> },
];
const ACCOUNT: Entry[] = [{ resource: 'tokens', label: 'Tokens', icon: <KeyOutlined /> }];
const ADMINISTRATION: Entry[] = [
  { resource: 'users', label: 'Users', icon: <PeopleOutlined /> },
  { resource: 'audit', label: 'Audit log', icon: <HistoryOutlined /> },
];

export function Menu() {
  const pages = useResourceDefinitions();
  const secondary = useCan('administer') ? [...ACCOUNT, ...ADMINISTRATION] : ACCOUNT;
  return (
    <RaMenu sx={{ pt: 1 }}>
      <RaMenu.Item to="/" primaryText="Home" leftIcon={<HomeOutlined />} />
      <Entries of={MAIN} />
      {secondary.some(({ resource }) => pages[resource]?.hasList) && <Divider sx={{ my: 1 }} />}
      <Entries of={secondary} />
    </RaMenu>
  );
}

function Entries({ of }: { of: Entry[] }) {
  const pages = useResourceDefinitions();
  return of
    .filter(({ resource }) => pages[resource]?.hasList)
    .map(({ resource, label, icon }) => <RaMenu.Item key={resource} to={`/${resource}`} primaryText={label} leftIcon={icon} />);
}
