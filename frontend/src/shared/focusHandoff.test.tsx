import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { expect, it } from 'vitest';

import { Panel } from './Panel';
import { useFocusHandoff } from './useFocusHandoff';

function Leaving({ to }: { to?: string }) {
  const ref = useFocusHandoff(to === undefined ? undefined : () => screen.queryByText(to));
  return <div ref={ref}><input aria-label="Name" /></div>;
}

function Page({ to }: { to?: string }) {
  const [there, setThere] = useState(true);
  return (
    <Panel title="Around">
      {there ? <Leaving {...(to ? { to } : {})} /> : <p>What came</p>}
      {/* A click on this button does not move the focus to the button. */}
      <button type="button" onMouseDown={(event) => event.preventDefault()} onClick={() => setThere(false)}>Away</button>
    </Panel>
  );
}

it.each([
  ['the heading of the panel', undefined, 'Around'],
  ['the replacement of the element', 'What came', 'What came'],
  ['the heading if there is no replacement', 'Something else', 'Around'],
])('a removed element passes the focus to %s', async (_, to, place) => {
  const user = userEvent.setup();
  render(<Page {...(to ? { to } : {})} />);
  await user.click(screen.getByRole('textbox', { name: 'Name' }));
  await user.click(screen.getByRole('button', { name: 'Away' }));
  expect(screen.getByText(place)).toHaveFocus();
});

it('removing an element that does not have the focus does not change the focus', async () => {
  const user = userEvent.setup();
  render(<><Page /><input aria-label="Elsewhere" /></>);
  await user.click(screen.getByRole('textbox', { name: 'Elsewhere' }));
  await user.click(screen.getByRole('button', { name: 'Away' }));
  expect(screen.getByRole('textbox', { name: 'Elsewhere' })).toHaveFocus();
});
