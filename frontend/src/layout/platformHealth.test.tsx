import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { ApiProblem, UNREACHABLE } from '../api/problem';
import type { Schemas } from '../api/types';
import { Installation } from '../fake/installation';
import { renderPage } from '../testing/render';
import { platformHealth } from './PlatformHealth';

function installationWith(component: Schemas['Component'], detail: string, next_step: string): Installation {
  const installation = new Installation(Date.now());
  Object.assign(installation.administration.components.find((one) => one.component === component)!, { status: 'down', detail, next_step });
  return installation;
}

describe('platform health', () => {
  it('lists all components, and shows no banner while they are up', async () => {
    const { user } = await renderPage('/', { as: 'viewer' });
    await user.click(await screen.findByRole('button', { name: 'Platform: all components are up' }));
    const rows = within(screen.getByRole('dialog', { name: 'Platform' })).getAllByRole('row');
    expect(rows.map((row) => within(row).getByRole('rowheader').textContent)).toEqual(['API', 'Postgres', 'Redis', 'Workers', 'Beat', 'Data directory', 'Drivers']);
    expect(rows[3]).toHaveTextContent('Workersup3 workers answer.');
    expect(screen.queryByText(/^Down:/)).toBeNull();
  });

  it('shows a banner with a sentence and a next step for a component that is down', async () => {
    await renderPage('/', { installation: installationWith('workers', 'The worker chores@host has not answered for 6 s.', 'Start or restart the workers.') });
    expect(await screen.findByText('The worker chores@host has not answered for 6 s. Start or restart the workers.')).toBeVisible();
    expect(screen.getByRole('status', { name: '' })).toHaveTextContent('Down: Workers.');
    expect(screen.getByRole('button', { name: 'Platform: Workers down' })).toBeVisible();
  });

  it('shows that Postgres is down although the API cannot authenticate the user', async () => {
    const { fake } = await renderPage('/', { installation: installationWith('postgres', 'Postgres has not answered for 4 s.', 'Check the server of the database.') });
    expect(await screen.findByText('Postgres has not answered for 4 s. Check the server of the database.')).toBeVisible();
    fake.installation.administration.components[0]!.status = 'up';
    await waitFor(() => expect(screen.queryByText(/Postgres has not answered/)).toBeNull(), { timeout: 5_000 });
  });

  it('leaves it to the page to show that the API does not answer', () => {
    expect(platformHealth({ data: undefined, error: null })).toBeNull();
    expect(platformHealth({ data: [], error: UNREACHABLE })).toEqual({ components: [], reachable: false });
    expect(platformHealth({ data: undefined, error: new DOMException('', 'TimeoutError') })).toEqual({ components: [], reachable: false });
    expect(platformHealth({ data: [], error: new ApiProblem(401, 'unauthenticated', 'The token is not valid.', '') })).toEqual({ components: [], reachable: true });
  });
});
