import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';

import { holdResponses, renderPage } from '../../testing/render';

it('the password dialog cannot be closed until the generated password is shown', async () => {
  const rendered = await renderPage('/users/2');
  const { user } = rendered;
  await user.click(await screen.findByRole('button', { name: /Reset password|Set password/ }));
  const dialog = await screen.findByRole('dialog', { name: /^Set a new password for / });
  const answer = holdResponses(rendered, 'PATCH');
  await user.click(within(dialog).getByRole('button', { name: 'Generate password' }));

  await waitFor(() => expect(within(dialog).getByRole('button', { name: 'Cancel' })).toBeDisabled());
  await user.keyboard('{Escape}');
  await user.click(document.querySelector('.MuiDialog-container')!);
  answer();
  expect(await within(dialog).findByRole('textbox', { name: 'Password' })).toBeVisible();
  await user.click(within(dialog).getByRole('button', { name: 'Done' }));
  await waitFor(() => expect(dialog).not.toBeInTheDocument());
});

it('the password dialog can be cancelled before a password is generated', async () => {
  const { user } = await renderPage('/users/2');
  await user.click(await screen.findByRole('button', { name: /Reset password|Set password/ }));
  const dialog = await screen.findByRole('dialog', { name: /^Set a new password for / });
  await user.keyboard('{Escape}');
  await waitFor(() => expect(dialog).not.toBeInTheDocument());
});
