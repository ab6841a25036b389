import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';

import { Verb } from './Verb';

it('keeps the keyboard while it cannot be done, does nothing then, and says why', async () => {
  const user = userEvent.setup();
  const pressed = vi.fn();
  const verb = (why: string | null) => <Verb label="Pin" why={why} onClick={pressed} />;
  const { rerender } = render(verb(null));
  const button = screen.getByRole('button', { name: 'Pin' });
  await user.tab();
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledOnce();

  rerender(verb('It is being asked for.'));
  expect(button).toHaveFocus();
  expect(button).toHaveAttribute('aria-disabled', 'true');
  expect(button).toHaveAccessibleDescription('It is being asked for.');
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledOnce();

  rerender(verb(null));
  expect(button).toHaveFocus();
  expect(button).not.toHaveAttribute('aria-disabled');
  expect(button).not.toHaveAccessibleDescription();
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledTimes(2);
});

it('shows why it cannot be done to who points at it or presses it, and what it is described by otherwise', async () => {
  const user = userEvent.setup();
  const pressed = vi.fn();
  const verb = (why: string | null) => <><Verb label="Go back…" describedBy="kept" why={why} onClick={pressed} /><p id="kept">kept for a day</p></>;
  const { rerender } = render(verb('It is damaged.'));
  await user.click(screen.getByRole('button'));
  expect(await screen.findByRole('tooltip')).toHaveTextContent('It is damaged.');
  expect(pressed).not.toHaveBeenCalled();
  rerender(verb(null));
  await waitFor(() => expect(screen.queryByRole('tooltip')).toBeNull());
  expect(screen.getByRole('button')).toHaveAccessibleDescription('kept for a day');
});
