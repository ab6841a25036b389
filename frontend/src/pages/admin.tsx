/** The pages for alerts, webhooks, tokens, secrets, users and the audit log. The code of each page is loaded when the page is opened. */
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
const Secrets = lazy(() => import('./secrets'));
const NewSecret = lazy(() => import('./secrets/Create'));
const EditSecret = lazy(() => import('./secrets/Edit'));
const Users = lazy(() => import('./users'));
const NewUser = lazy(() => import('./users/Create'));
const EditUser = lazy(() => import('./users/Edit'));
const Tokens = lazy(() => import('./tokens'));
const NewToken = lazy(() => import('./tokens/Create'));
const Audit = lazy(() => import('./audit'));

interface Pages {
  list: ComponentType;
  create?: ComponentType;
  edit?: ComponentType;
  /** The field that is shown as the name of a record. */
  nameField?: string;
}

/** Return a resource whose pages require permissions. If `readable` is true, users without the permission to edit a record can open its page. */
function resource(name: string, { list, create, edit, nameField }: Pages, { readable = false } = {}) {
  return (
    <Resource
      key={name}
      name={name}
      list={withAccessCheck('list', name, list)}
      {...(create && { create: withAccessCheck('create', name, create) })}
      {...(edit && { edit: readable ? edit : withAccessCheck('edit', name, edit) })}
      {...(nameField && { recordRepresentation: nameField })}
    />
  );
}

/** The resources are a list of elements and not a component, because react-admin inspects the children of `Admin` without rendering them. */
export const adminResources = [
  resource('alerts', { list: Alerts }),
  resource('alert-rules', { list: Rules, create: NewRule, edit: EditRule, nameField: 'name' }, { readable: true }),
  resource('webhooks', { list: Webhooks, create: NewWebhook, edit: EditWebhook, nameField: 'name' }, { readable: true }),
  resource('tokens', { list: Tokens, create: NewToken, nameField: 'name' }),
  resource('secrets', { list: Secrets, create: NewSecret, edit: EditSecret, nameField: 'name' }),
  resource('users', { list: Users, create: NewUser, edit: EditUser, nameField: 'name' }),
  resource('audit', { list: Audit }),
];
