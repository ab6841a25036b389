import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';

import { absolute, clock } from '../format';
import { RelativeTime } from './Time';

it('a relative time can show the time of day and the age, with the absolute time as a tooltip', () => {
  const at = Date.now() - 3_000;
  const { rerender } = render(<RelativeTime at={at} clock />);
  expect(screen.getByText(/^\d+ s ago$/)).toBeVisible();
  expect(screen.getByText(clock(at), { exact: false })).toBeVisible();
  expect(screen.getByRole('time')).toHaveAttribute('title', absolute(at));
  rerender(<RelativeTime at={null} clock />);
  expect(screen.getByText('–')).toBeVisible();
});
