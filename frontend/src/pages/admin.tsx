/** What is not about one job: pages that few open, and nobody first. Each comes when it is opened. */
import { lazy, type ComponentType } from 'react';
import { Resource } from 'react-admin';

import { withAccessCheck } from '../auth/AccessDenied';

const Alerts = lazy(() => import('./alerts'));
const Rules = lazy(() => import('./rules'));
const NewRule = lazy(() => import('./rules/Create'));
const EditRule = lazy(() => import('./rules/Edit'));
const Webhooks = lazy(() => import('./webhooks'));
const NewWebhook = lazy(() => import('./webhooks/Create'));
const EditWebhook = lazy(() => import('./webhooks/Edit'));
const Users = lazy(() => import('./users'));
const UserCreate = lazy(() => import('./users/Create'));
const EditUser = lazy(() => import('./users/Edit'));
const Tokens = lazy(() => import('./tokens'));
const TokenCreate = lazy(() => import('./tokens/Create'));
const Audit = lazy(() => import('./audit'));

interface Pages {
  list: ComponentType;
  create?: ComponentType;
  edit?: ComponentType;
  /** Field that says what a row is. */
  named?: string;
}

/** Each page for who may see it; `readable`: whoever may not change it sees the page of one row as well. */
function resource(name: string, { list, create, edit, named }: Pages, { readable = false } = {}) {
  return (
    <Resource
      key={name}
      name={name}
      list={withAccessCheck('list', name, list)}
      {...(create && { create: withAccessCheck('create', name, create) })}
      {...(edit && { edit: readable ? edit : withAccessCheck('edit', name, edit) })}
      {...(named && { recordRepresentation: named })}
    />
  );
}

/** Not a component: react-admin reads its children, not what they would draw. */
export const adminResources = [
  resource('alerts', { list: Alerts }),
  resource('alert-rules', { list: Rules, create: NewRule, edit: EditRule, named: 'name' }, { readable: true }),
  resource('webhooks', { list: Webhooks, create: NewWebhook, edit: EditWebhook, named: 'name' }, { readable: true }),
  resource('tokens', { list: Tokens, create: TokenCreate, named: 'name' }),
  resource('users', { list: Users, create: UserCreate, edit: EditUser, named: 'name' }),
  resource('audit', { list: Audit }),
];
