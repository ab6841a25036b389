import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { World } from '../../../fake/world';
import { hold, renderJob } from '../../../testing/render';

const path = ({ url }: Request): string => new URL(url).pathname;

describe('recovery', () => {
  it('shows restores as branches, and why each file is kept', async () => {
    await renderJob(1, '/recovery');
    const tree = await screen.findByRole('list', { name: /Checkpoints and restores/ });
    const row = (name: string): HTMLElement => within(tree).getByText(name).closest('li')!;
    expect(within(row('Checkpoint 60')).getByText(/the newest: the job would go on with it/)).toBeVisible();
    expect(within(row('Checkpoint 40')).getByText(/pinned: before the new carriers.*branches off here/)).toBeVisible();
    expect(within(row('Checkpoint 52')).getByText('left behind')).toBeVisible();
    expect(within(row('Savepoint 25')).getByText(/a savepoint/)).toBeVisible();
    expect(within(tree).getByText(/Run 3 went back to/)).toHaveTextContent(/went back to 40 by plan \d+ \(rollback\)/);
  });

  it('folds a long stretch, and shows it when it is asked for', async () => {
    const world = new World(Date.now());
    for (const { body } of world.find(2)!.checkpoints) body.discarded_at = null;
    const { user } = await renderJob(2, '/recovery', { world });
    const fold = await screen.findByRole('button', { name: /^Show them: checkpoints \d+ to \d+$/ });
    const [, oldest, newest] = /(\d+) to (\d+)/.exec(fold.getAttribute('aria-label')!)!;
    expect(screen.queryByRole('button', { name: `Go back to checkpoint ${oldest}: see what would happen` })).toBeNull();
    await user.click(fold);
    expect(screen.getByRole('button', { name: `Go back to checkpoint ${oldest}: see what would happen` })).toBeVisible();
    expect(screen.queryByRole('button', { name: /^Show them/ })).toBeNull();
    expect(screen.getByText(`Checkpoint ${newest}`).closest('li')).toHaveFocus();
  });

  it('does not go back to what is damaged, and says so', async () => {
    await renderJob(1, '/recovery');
    const button = await screen.findByRole('button', { name: /Go back to checkpoint 45/ });
    expect(button).toHaveAttribute('aria-disabled', 'true');
    expect(button).toHaveAccessibleDescription(/is damaged: state\/by_route-2\.bin has 1,204 bytes/);
  });

  it('shows what going back would do, has it confirmed by the name of the job, shows each step, and undoes it', async () => {
    const rendered = await renderJob(1, '/recovery');
    const { fake, user } = rendered;
    await user.click(await screen.findByRole('button', { name: /Go back to checkpoint 40/ }));
    expect(await screen.findByText(/A worker reads the files/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Go back' })).toBeDisabled();
    fake.world.advance(fake.world.nowMs + 2_000);

    const positions = await screen.findByRole('region', { name: 'Positions of the sources' });
    expect(within(positions).getAllByText(/offset 1,928,/)).not.toHaveLength(0);
    expect(screen.getByText(/kept, so that this can be undone/)).toBeVisible();
    expect(screen.getByText(/flights and weather, /), 'operators by their names, and not by their uids').toBeVisible();
    const confirm = await screen.findByRole('button', { name: 'Go back' });
    expect(confirm).toBeDisabled();
    await user.type(screen.getByRole('textbox', { name: 'Type flights-delays to confirm' }), 'flights-delay');
    expect(confirm).toBeDisabled();
    await user.type(screen.getByRole('textbox', { name: 'Type flights-delays to confirm' }), 's');
    const answer = hold(rendered, 'POST');
    await user.click(confirm);
    // A button that is disabled loses the keyboard.
    expect(confirm).toBeEnabled();
    expect(confirm).toHaveAttribute('aria-disabled', 'true');
    await user.click(confirm);
    answer();

    const steps = await screen.findByRole('list', { name: 'Steps' });
    expect(within(steps).getByText('verifying the files of the checkpoint')).toBeVisible();
    // Told are steps, and not how long one takes, which is another each second.
    expect(steps.closest('[role=status], [aria-live]')).toBeNull();
    const told = screen.getByRole('status');
    expect(told).toHaveTextContent(/^Being done: verifying the files of the checkpoint/);
    expect(screen.getByRole('heading', { name: /^Plan \d+: Go back to checkpoint 40$/ })).toHaveFocus();
    fake.world.advance(fake.world.nowMs + 1_600);
    expect(await within(steps).findByText('stopping the job')).toBeVisible();
    await waitFor(() => expect(told).toHaveTextContent(/^Being done: stopping the job/));
    fake.world.advance(fake.world.nowMs + 1_600);
    fake.world.advance(fake.world.nowMs + 1_600);
    expect(await screen.findByText(/It was applied/)).toBeVisible();
    const verbs = fake.asked.filter(({ method }) => method === 'POST').map(path);
    expect(verbs.map((one) => one.replace(/\d{4}/, 'N'))).toEqual(['/api/v1/jobs/1/plans', '/api/v1/plans/N/approve', '/api/v1/plans/N/apply']);

    await user.click(await screen.findByRole('button', { name: /^Undo plan \d+$/ }));
    expect(await screen.findByRole('heading', { name: /Undo plan \d+: return to checkpoint 61/ })).toBeVisible();
  });

  it('does not offer to undo what has nothing left to return to, and says so', async () => {
    const world = new World(Date.now());
    const one = world.find(1)!;
    const applied = one.plans.find(({ state, safety_checkpoint }) => state === 'APPLIED' && safety_checkpoint !== null)!;
    one.checkpoints.find(({ body }) => body.number === applied.safety_checkpoint)!.body.discarded_at = '2026-11-20T10:00:00Z';
    await renderJob(1, `/recovery/${applied.id}`, { world });
    expect(await screen.findByText(new RegExp(`stopped with checkpoint ${applied.safety_checkpoint} before: its files are gone`))).toBeVisible();
    const undo = await screen.findByRole('button', { name: `Undo plan ${applied.id}` });
    expect(undo).toHaveAttribute('aria-disabled', 'true');
  });

  it('asks who would show readers something twice whether he knows', async () => {
    const { fake, user } = await renderJob(2, '/recovery');
    const [button] = await screen.findAllByRole('button', { name: /Go back to checkpoint 5\d/ });
    await user.click(button!);
    await screen.findByText(/A worker reads the files/);
    fake.world.advance(fake.world.nowMs + 2_000);
    await user.type(await screen.findByRole('textbox', { name: /to confirm/ }), 'payments-fraud-score');
    expect(screen.getByRole('button', { name: 'Go back' })).toBeDisabled();
    await user.click(screen.getByRole('checkbox', { name: /readers of out will see records twice/ }));
    expect(screen.getByRole('button', { name: 'Go back' })).toBeEnabled();
  });

  it('does not take what was typed and ticked for one plan as said of another', async () => {
    const { fake, user } = await renderJob(2, '/recovery');
    const propose = async (nth: number): Promise<HTMLElement> => {
      await user.click((await screen.findAllByRole('button', { name: /Go back to checkpoint 5\d/ }))[nth]!);
      await screen.findByText(/A worker reads the files/);
      fake.world.advance(fake.world.nowMs + 2_000);
      return screen.findByRole('textbox', { name: /to confirm/ });
    };
    await propose(0);
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    await user.type(await propose(1), 'payments-fraud-score');
    await user.click(screen.getByRole('checkbox', { name: /will see records twice/ }));
    const { textContent: title } = screen.getByRole('heading', { name: /^Plan \d+: / });

    // From the one to the other at once: both are known.
    globalThis.history.go(-2);
    await waitFor(() => expect(screen.getByRole('heading', { name: /^Plan \d+: / })).not.toHaveTextContent(title));
    expect(screen.getByRole('textbox', { name: /to confirm/ })).toHaveValue('');
    expect(screen.getByRole('checkbox', { name: /will see records twice/ })).not.toBeChecked();
  });

  it('lets an operator propose, and says who has to confirm', async () => {
    const { fake, user } = await renderJob(1, '/recovery', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: /Go back to checkpoint 40/ }));
    await screen.findByText(/A worker reads the files/);
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByText(/needs the permission 'rollback'/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Go back' })).toBeDisabled();
    expect(screen.queryByRole('textbox', { name: /to confirm/ })).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Leave it' }));
    expect(await screen.findByText('withdrawn')).toBeVisible();
  });

  it('names the plan in the title of its page, and no more when it is left', async () => {
    const { user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: /Go back to checkpoint 40/ }));
    await screen.findByText(/A worker reads the files/);
    expect(document.title).toMatch(/^Plan \d+: Go back to checkpoint 40 · Recovery · flights-delays · Weir$/);
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    await screen.findByRole('list', { name: /Checkpoints and restores/ });
    expect(document.title).toBe('Recovery · flights-delays · Weir');
    await user.click(screen.getByRole('tab', { name: 'Runs' }));
    await waitFor(() => expect(document.title).toBe('Runs · flights-delays · Weir'));
  });

  it('goes on from a checkpoint elsewhere, at a place that is allowed', async () => {
    const { fake, user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Restore from a path…' }));
    const dialog = await screen.findByRole('dialog', { name: 'Restore flights-delays from a path' });
    const look = within(dialog).getByRole('button', { name: 'See what it would do' });
    const where = within(dialog).getByRole('textbox', { name: 'Path' });
    await user.click(look);
    expect(within(dialog).getByText(/^A directory as \/srv/)).toBeVisible();
    await user.type(where, '/etc/secrets');
    await user.click(look);
    expect(await within(dialog).findByText(/not for this installation to look into.*WEIR_RESTORE_ROOTS/)).toBeVisible();
    await user.clear(where);
    await user.click(where);
    await user.paste('/srv/checkpoints/flights-2025#800');
    expect(within(dialog).getByRole('textbox', { name: 'Checkpoint' })).toHaveValue('800');
    await user.click(look);

    expect(await screen.findByRole('heading', { name: /Restore from checkpoint 800 in \/srv\/checkpoints\/flights-2025/ })).toBeVisible();
    await screen.findByText(/A worker reads the files/);
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByText(/a copy of savepoint 800 of job flights, 171 MB/)).toBeVisible();
    expect(screen.getByText('no obstacle found')).toBeVisible();
    expect(await screen.findByRole('region', { name: 'Positions of the sources' })).toBeVisible();
    await user.type(await screen.findByRole('textbox', { name: /to confirm/ }), 'flights-delays');
    await user.click(screen.getByRole('button', { name: 'Restore' }));
    await screen.findByRole('list', { name: 'Steps' });
    for (let step = 0; step < 3; step += 1) fake.world.advance(fake.world.nowMs + 1_600);
    expect(await screen.findByText(/It was applied/)).toBeVisible();

    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    const tree = await screen.findByRole('list', { name: /Checkpoints and restores/ });
    expect(await within(tree).findByText(/went on from a copy of checkpoint/)).toHaveTextContent(/^Run 5 went on from a copy of checkpoint 800 in \/srv\/checkpoints\/flights-2025 by plan \d+ \(restore\)$/);
    expect(within(tree).getByText('copied from elsewhere').closest('li')).toHaveTextContent(/^Savepoint 62newest/);
    expect(within(within(tree).getByText('Checkpoint 60').closest('li')!).getByText('left behind')).toBeVisible();
  });

  it('says what of a graph does not fit the state, before anything is done', async () => {
    const { fake, user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Restore from a path…' }));
    await user.type(await screen.findByRole('textbox', { name: 'Path' }), '/srv/checkpoints/orders');
    await user.click(screen.getByRole('button', { name: 'See what it would do' }));
    await screen.findByText(/A worker reads the files/);
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByText('does not fit')).toBeVisible();
    expect(screen.getAllByText(/state of operator 'counts'.*Mend that in a new version/)).toHaveLength(1);
    const confirm = screen.getByRole('button', { name: 'Restore' });
    expect(confirm).toBeDisabled();
    expect(confirm).toHaveAccessibleDescription(/^It would not work: the checkpoint has state of operator 'counts'/);
  });

  it('begins anew, and can be brought back from that', async () => {
    const { fake, user } = await renderJob(3, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Begin anew…' }));
    expect(await screen.findByRole('heading', { name: /Begin anew with version 2, without any state/ })).toBeVisible();
    expect(screen.getByText(/A worker looks at what would be left behind/)).toBeVisible();
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByText(/so that this can be undone/)).toBeVisible();
    expect(screen.getByText('All input, from its beginning.')).toBeVisible();
    await user.type(await screen.findByRole('textbox', { name: 'Type clicks-sessions to confirm' }), 'clicks-sessions');
    await user.click(screen.getByRole('button', { name: 'Begin anew' }));
    expect(within(await screen.findByRole('list', { name: 'Steps' })).getByText('beginning')).toBeVisible();
    for (let step = 0; step < 3; step += 1) fake.world.advance(fake.world.nowMs + 1_600);
    expect(await screen.findByRole('button', { name: /^Undo plan \d+$/ })).toBeEnabled();
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    expect(await screen.findByText(/began anew, without any state/)).toHaveTextContent(/^Run \d began anew, without any state by plan \d+ \(upgrade\)$/);
  });

  it('offers nothing to who may only look', async () => {
    await renderJob(1, '/recovery', { as: 'viewer' });
    await screen.findByText('Checkpoint 60');
    for (const name of [/Go back/, /Undo/, /Begin anew/, /Restore from/]) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});
