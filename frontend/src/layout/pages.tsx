/** The pages of the menu and of the command palette. */
import HistoryOutlined from '@mui/icons-material/HistoryOutlined';
import HomeOutlined from '@mui/icons-material/HomeOutlined';
import KeyOutlined from '@mui/icons-material/KeyOutlined';
import LockOutlined from '@mui/icons-material/LockOutlined';
import NotificationsOutlined from '@mui/icons-material/NotificationsOutlined';
import PeopleOutlined from '@mui/icons-material/PeopleOutlined';
import RuleOutlined from '@mui/icons-material/RuleOutlined';
import WaterOutlined from '@mui/icons-material/WaterOutlined';
import WebhookOutlined from '@mui/icons-material/WebhookOutlined';
import type { ReactElement } from 'react';
import { useResourceDefinitions } from 'react-admin';

import { useCan } from '../auth/permissions';

export interface PageEntry {
  path: string;
  label: string;
  icon: ReactElement;
}

const HOME: PageEntry = { path: '/', label: 'Home', icon: <HomeOutlined /> };
const MAIN: PageEntry[] = [
  { path: '/jobs', label: 'Jobs', icon: <WaterOutlined /> },
  { path: '/alerts', label: 'Alerts', icon: <NotificationsOutlined /> },
  { path: '/alert-rules', label: 'Alert rules', icon: <RuleOutlined /> },
  { path: '/webhooks', label: 'Webhooks', icon: <WebhookOutlined /> },
];
const ACCOUNT: PageEntry[] = [{ path: '/tokens', label: 'Tokens', icon: <KeyOutlined /> }];
const ADMINISTRATION: PageEntry[] = [
  { path: '/users', label: 'Users', icon: <PeopleOutlined /> },
  { path: '/secrets', label: 'Secrets', icon: <LockOutlined /> },
  { path: '/audit', label: 'Audit log', icon: <HistoryOutlined /> },
];

/** Return the pages that the user can open, in two groups. The path of a page is `/` and the name of its resource. */
export function usePages(): { main: PageEntry[]; secondary: PageEntry[] } {
  const resources = useResourceDefinitions();
  const administers = useCan('administer');
  const hasList = ({ path }: PageEntry): boolean => resources[path.slice(1)]?.hasList === true;
  return { main: [HOME, ...MAIN.filter(hasList)], secondary: [...ACCOUNT, ...(administers ? ADMINISTRATION : [])].filter(hasList) };
}
