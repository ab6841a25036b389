import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';

import { hold, renderPage } from '../../testing/render';

it('a password that is being made cannot be left before it was shown', async () => {
  const rendered = await renderPage('/users/2');
  const { user } = rendered;
  await user.click(await screen.findByRole('button', { name: /Reset the password|Give a password/ }));
  const dialog = await screen.findByRole('dialog', { name: /^A new password for / });
  const answer = hold(rendered, 'PATCH');
  await user.click(within(dialog).getByRole('button', { name: 'Make a new one' }));

  await waitFor(() => expect(within(dialog).getByRole('button', { name: 'Leave it' })).toBeDisabled());
  await user.keyboard('{Escape}');
  await user.click(document.querySelector('.MuiDialog-container')!);
  answer();
  expect(await within(dialog).findByRole('textbox', { name: 'Password' })).toBeVisible();
  await user.click(within(dialog).getByRole('button', { name: 'I have it' }));
  await waitFor(() => expect(dialog).not.toBeInTheDocument());
});

it('one that is not asked for yet is left by any way', async () => {
  const { user } = await renderPage('/users/2');
  await user.click(await screen.findByRole('button', { name: /Reset the password|Give a password/ }));
  const dialog = await screen.findByRole('dialog', { name: /^A new password for / });
  await user.keyboard('{Escape}');
  await waitFor(() => expect(dialog).not.toBeInTheDocument());
});
