/** What is not about one job: pages that few open, and nobody first. Each comes when it is opened. */
import { lazy } from 'react';
import { Resource } from 'react-admin';

const Alerts = lazy(() => import('./alerts'));
const Rules = lazy(() => import('./rules'));
const NewRule = lazy(() => import('./rules/Create'));
const EditRule = lazy(() => import('./rules/Edit'));
const Webhooks = lazy(() => import('./webhooks'));
const NewWebhook = lazy(() => import('./webhooks/Create'));
const EditWebhook = lazy(() => import('./webhooks/Edit'));
const Users = lazy(() => import('./users'));
const NewUser = lazy(() => import('./users/Create'));
const EditUser = lazy(() => import('./users/Edit'));
const Tokens = lazy(() => import('./tokens'));
const NewToken = lazy(() => import('./tokens/Create'));
const Audit = lazy(() => import('./audit'));

/** Not a component: react-admin reads its children, not what they would draw. */
export const adminResources = [
  <Resource key="alerts" name="alerts" list={Alerts} />,
  <Resource key="alert-rules" name="alert-rules" list={Rules} create={NewRule} edit={EditRule} recordRepresentation="name" />,
  <Resource key="webhooks" name="webhooks" list={Webhooks} create={NewWebhook} edit={EditWebhook} recordRepresentation="name" />,
  <Resource key="tokens" name="tokens" list={Tokens} create={NewToken} recordRepresentation="name" />,
  <Resource key="users" name="users" list={Users} create={NewUser} edit={EditUser} recordRepresentation="name" />,
  <Resource key="audit" name="audit" list={Audit} />,
];
