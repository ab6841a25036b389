import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { expect, it } from 'vitest';

import { Panel } from './Panel';
import { useHandOver } from './useHandOver';

function Leaving({ to }: { to?: string }) {
  const ref = useHandOver(to === undefined ? undefined : () => screen.queryByText(to));
  return <div ref={ref}><input aria-label="Name" /></div>;
}

function Page({ to }: { to?: string }) {
  const [there, setThere] = useState(true);
  return (
    <Panel title="Around">
      {there ? <Leaving {...(to ? { to } : {})} /> : <p>What came</p>}
      {/* The keyboard stays where it is: what happens elsewhere is not pressed. */}
      <button type="button" onMouseDown={(event) => event.preventDefault()} onClick={() => setThere(false)}>Away</button>
    </Panel>
  );
}

it.each([
  ['the heading of the panel around', undefined, 'Around'],
  ['what has come in its place', 'What came', 'What came'],
  ['the heading, where nothing has come', 'Something else', 'Around'],
])('what goes away with the keyboard hands it over to %s', async (_, to, place) => {
  const user = userEvent.setup();
  render(<Page {...(to ? { to } : {})} />);
  await user.click(screen.getByRole('textbox', { name: 'Name' }));
  await user.click(screen.getByRole('button', { name: 'Away' }));
  expect(screen.getByText(place)).toHaveFocus();
});

it('what goes away without it leaves it where it is', async () => {
  const user = userEvent.setup();
  render(<><Page /><input aria-label="Elsewhere" /></>);
  await user.click(screen.getByRole('textbox', { name: 'Elsewhere' }));
  await user.click(screen.getByRole('button', { name: 'Away' }));
  expect(screen.getByRole('textbox', { name: 'Elsewhere' })).toHaveFocus();
});
