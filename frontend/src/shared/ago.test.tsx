import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';

import { absolute, clock } from '../format';
import { Ago } from './Ago';

it('says the time of day beside how long ago it was, and all of it with its zone to who points at it', () => {
  const at = Date.now() - 3_000;
  const { rerender } = render(<Ago at={at} clock />);
  expect(screen.getByText(/^\d+ s ago$/)).toBeVisible();
  expect(screen.getByText(clock(at), { exact: false })).toBeVisible();
  expect(screen.getByRole('time')).toHaveAttribute('title', absolute(at));
  rerender(<Ago at={null} clock />);
  expect(screen.getByText('–')).toBeVisible();
});
