import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';

import { ActionButton } from './ActionButton';

it('a disabled action button keeps the focus, has no effect, and has the reason as its description', async () => {
  const user = userEvent.setup();
  const pressed = vi.fn();
  const verb = (why: string | null) => <ActionButton label="Pin" disabledReason={why} onClick={pressed} />;
  const { rerender } = render(verb(null));
  const button = screen.getByRole('button', { name: 'Pin' });
  await user.tab();
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledOnce();

  rerender(verb('A request is in progress.'));
  expect(button).toHaveFocus();
  expect(button).toHaveAttribute('aria-disabled', 'true');
  expect(button).toHaveAccessibleDescription('A request is in progress.');
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledOnce();

  rerender(verb(null));
  expect(button).toHaveFocus();
  expect(button).not.toHaveAttribute('aria-disabled');
  expect(button).not.toHaveAccessibleDescription();
  await user.keyboard('{Enter}');
  expect(pressed).toHaveBeenCalledTimes(2);
});

it('a disabled action button shows the reason as a tooltip, and an enabled action button has its normal description', async () => {
  const user = userEvent.setup();
  const pressed = vi.fn();
  const verb = (why: string | null) => <><ActionButton label="Roll back…" describedBy="kept" disabledReason={why} onClick={pressed} /><p id="kept">kept for a day</p></>;
  const { rerender } = render(verb('It is damaged.'));
  await user.click(screen.getByRole('button'));
  expect(await screen.findByRole('tooltip')).toHaveTextContent('It is damaged.');
  expect(pressed).not.toHaveBeenCalled();
  rerender(verb(null));
  await waitFor(() => expect(screen.queryByRole('tooltip')).toBeNull());
  expect(screen.getByRole('button')).toHaveAccessibleDescription('kept for a day');
});
