import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';

import { LineBanner, LineMark } from './LineState';

it('says how old what is shown is, and when it is tried again', () => {
  const now = Date.now();
  render(<LineBanner line={{ is: 'broken', heardAtMs: now - 72_000, why: 'the control plane does not answer', againAtMs: now + 8_000 }} />);
  expect(screen.getByRole('status')).toHaveTextContent(/does not answer.*What you see is 1 min 1\d s old; jobs go on without it\. Trying again in \d/);
});

it('makes no fuss of a line that is only just broken', () => {
  render(<LineBanner line={{ is: 'broken', heardAtMs: Date.now() - 500, why: 'x', againAtMs: Date.now() }} />);
  expect(screen.queryByRole('status')).toBeNull();
});

it('says what it is doing', () => {
  render(<LineMark line={{ is: 'catching-up', heardAtMs: 0, sinceMs: 0, missed: 41 }} />);
  expect(screen.getByText('catching up: 41')).toBeVisible();
});
