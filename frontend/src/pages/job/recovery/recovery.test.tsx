import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { Installation } from '../../../fake/installation';
import { holdResponses, renderJob } from '../../../testing/render';

const path = ({ url }: Request): string => new URL(url).pathname;

describe('the recovery tab', () => {
  it('shows restores as branches, and the retention reason of each checkpoint', async () => {
    await renderJob(1, '/recovery');
    const tree = await screen.findByRole('list', { name: /Checkpoints and restores/ });
    const row = (name: string): HTMLElement => within(tree).getByText(name).closest('li')!;
    expect(within(row('Checkpoint 60')).getByText(/because it is the newest/)).toBeVisible();
    expect(within(row('Checkpoint 40')).getByText(/This checkpoint is pinned by admin: before the new carriers.*abandoned branch starts/)).toBeVisible();
    expect(within(row('Checkpoint 52')).getByText('abandoned')).toBeVisible();
    expect(within(row('Savepoint 25')).getByText(/This checkpoint is a savepoint/)).toBeVisible();
    expect(within(tree).getByText(/Run 3 restored checkpoint/)).toHaveTextContent(/restored checkpoint 40 by plan \d+ \(rollback\)/);
  });

  it('says what happens if a slot fails now, and how long recent recoveries took', async () => {
    const installation = new Installation(Date.now());
    const { failures } = installation.find(1)!;
    const failure = { id: 900, job_id: 1, run_id: 1, generation: 1, kind: 'SlotLost', reason: 'lost', at: new Date().toISOString(), recovered_at: new Date().toISOString() };
    failures.splice(0, failures.length, ...[400, 250, 300].map((downtime_ms) => ({ ...failure, recovery: 'full', downtime_ms })), { ...failure, recovery: 'restart', downtime_ms: 9_000 });
    await renderJob(1, '/recovery', { installation });
    const panel = await screen.findByRole('region', { name: 'If a slot fails now' });
    expect(await within(panel).findByText(/^All \d+ slots restore checkpoint \d+, because slots exchange records from '\w+' to '\w+'/)).toBeVisible();
    expect(within(panel).getByText('Recent recoveries of this kind: 3. Downtime: median 300 ms, maximum 400 ms')).toBeVisible();
  });

  it('says that nothing is known about the recovery of a stopped job', async () => {
    const installation = new Installation(Date.now());
    installation.find(1)!.job.state = 'SUSPENDED';
    await renderJob(1, '/recovery', { installation });
    expect(within(await screen.findByRole('region', { name: 'If a slot fails now' })).getByText('The job is not running.')).toBeVisible();
  });

  it('collapses a long stretch of checkpoints until the user expands it', async () => {
    const installation = new Installation(Date.now());
    for (const { body } of installation.find(2)!.checkpoints) body.discarded_at = null;
    const { user } = await renderJob(2, '/recovery', { installation });
    const expand = await screen.findByRole('button', { name: /^Show checkpoints \d+ to \d+$/ });
    const [, oldest, newest] = /(\d+) to (\d+)/.exec(expand.getAttribute('aria-label')!)!;
    expect(screen.queryByRole('button', { name: `Roll back to checkpoint ${oldest}…` })).toBeNull();
    await user.click(expand);
    expect(screen.getByRole('button', { name: `Roll back to checkpoint ${oldest}…` })).toBeVisible();
    expect(screen.queryByRole('button', { name: /^Show checkpoints/ })).toBeNull();
    expect(screen.getByText(`Checkpoint ${newest}`).closest('li')).toHaveFocus();
  });

  it('shows why a rollback to a damaged checkpoint is not possible', async () => {
    await renderJob(1, '/recovery');
    const button = await screen.findByRole('button', { name: /Roll back to checkpoint 45/ });
    expect(button).toHaveAttribute('aria-disabled', 'true');
    expect(button).toHaveAccessibleDescription(/is damaged: state\/by_route-2\.bin has 1,204 bytes/);
  });

  it('previews a rollback, requires the job name as confirmation, shows the progress, and proposes the undo', async () => {
    const rendered = await renderJob(1, '/recovery');
    const { fake, user } = rendered;
    await user.click(await screen.findByRole('button', { name: /Roll back to checkpoint 40/ }));
    expect(await screen.findByText(/A worker is verifying the files/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Roll back' })).toBeDisabled();
    fake.installation.advance(fake.installation.nowMs + 2_000);

    const positions = await screen.findByRole('region', { name: 'Source positions' });
    expect(within(positions).getAllByText(/offset 1,928,/)).not.toHaveLength(0);
    expect(screen.getByText(/retained for an undo/)).toBeVisible();
    expect(screen.getByText(/flights and weather, /), 'the preview lists operators by name, not by uid').toBeVisible();
    const confirm = await screen.findByRole('button', { name: 'Roll back' });
    expect(confirm).toBeDisabled();
    await user.type(screen.getByRole('textbox', { name: 'Type flights-delays to confirm' }), 'flights-delay');
    expect(confirm).toBeDisabled();
    await user.type(screen.getByRole('textbox', { name: 'Type flights-delays to confirm' }), 's');
    const answer = holdResponses(rendered, 'POST');
    await user.click(confirm);
    // The button keeps the focus, because it has `aria-disabled` instead of `disabled`.
    expect(confirm).toBeEnabled();
    expect(confirm).toHaveAttribute('aria-disabled', 'true');
    await user.click(confirm);
    answer();

    const steps = await screen.findByRole('list', { name: 'Steps' });
    expect(within(steps).getByText('verifying the files of the checkpoint')).toBeVisible();
    // Screen readers announce steps, but not durations.
    expect(steps.closest('[role=status], [aria-live]')).toBeNull();
    const status = screen.getByRole('status');
    expect(status).toHaveTextContent(/^Running: verifying the files of the checkpoint/);
    expect(screen.getByRole('heading', { name: /^Plan \d+: Roll back to checkpoint 40$/ })).toHaveFocus();
    fake.installation.advance(fake.installation.nowMs + 1_600);
    expect(await within(steps).findByText('stopping the job')).toBeVisible();
    await waitFor(() => expect(status).toHaveTextContent(/^Running: stopping the job/));
    fake.installation.advance(fake.installation.nowMs + 1_600);
    fake.installation.advance(fake.installation.nowMs + 1_600);
    expect(await screen.findByText(/Plan applied/)).toBeVisible();
    const requests = fake.requests.filter(({ method }) => method === 'POST').map(path);
    expect(requests.map((one) => one.replace(/\d{4}/, 'N'))).toEqual(['/api/v1/jobs/1/plans', '/api/v1/plans/N/approve', '/api/v1/plans/N/apply']);

    await user.click(await screen.findByRole('button', { name: /^Undo plan \d+$/ }));
    expect(await screen.findByRole('heading', { name: /Undo plan \d+: return to checkpoint 61/ })).toBeVisible();
  });

  it('shows why a plan whose safety savepoint was deleted cannot be undone', async () => {
    const installation = new Installation(Date.now());
    const one = installation.find(1)!;
    const applied = one.plans.find(({ state, safety_checkpoint }) => state === 'APPLIED' && safety_checkpoint !== null)!;
    one.checkpoints.find(({ body }) => body.number === applied.safety_checkpoint)!.body.discarded_at = '2026-11-20T10:00:00Z';
    await renderJob(1, `/recovery/${applied.id}`, { installation });
    expect(await screen.findByText(`The job stopped with checkpoint ${applied.safety_checkpoint}. An undo restores checkpoint ${applied.safety_checkpoint}.`)).toBeVisible();
    const undo = await screen.findByRole('button', { name: `Undo plan ${applied.id}` });
    expect(undo).toHaveAttribute('aria-disabled', 'true');
    expect(undo).toHaveAccessibleDescription(/were deleted/);
  });

  it('requires the user to accept duplicate records', async () => {
    const { fake, user } = await renderJob(2, '/recovery');
    const [button] = await screen.findAllByRole('button', { name: /Roll back to checkpoint 5\d/ });
    await user.click(button!);
    await screen.findByText(/A worker is verifying the files/);
    fake.installation.advance(fake.installation.nowMs + 2_000);
    await user.type(await screen.findByRole('textbox', { name: /to confirm/ }), 'payments-fraud-score');
    expect(screen.getByRole('button', { name: 'Roll back' })).toBeDisabled();
    await user.click(screen.getByRole('checkbox', { name: /accept duplicate records for readers of out/ }));
    expect(screen.getByRole('button', { name: 'Roll back' })).toBeEnabled();
  });

  it('approves only the preview that the user has seen', async () => {
    const { fake, user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: /Roll back to checkpoint 40/ }));
    await screen.findByText(/A worker is verifying the files/);
    fake.installation.advance(fake.installation.nowMs + 2_000);
    await user.type(await screen.findByRole('textbox', { name: /to confirm/ }), 'flights-delays');
    const plan = fake.installation.find(1)!.plans[0]!;
    plan.preview.inspection = { ...plan.preview.inspection!, notes: ['A consumer has removed files.'] };
    await user.click(screen.getByRole('button', { name: 'Roll back' }));
    expect(await screen.findByText(`The preview of plan ${plan.id} has changed since you opened it. Review it again.`)).toBeVisible();
    expect(await screen.findByText(/A consumer has removed files/)).toBeVisible();
    expect(screen.getByRole('textbox', { name: /to confirm/ }), 'the user must confirm the new preview').toHaveValue('');
    expect(fake.requests.some((request) => path(request).endsWith('/apply'))).toBe(false);
    await user.type(screen.getByRole('textbox', { name: /to confirm/ }), 'flights-delays');
    await user.click(screen.getByRole('button', { name: 'Roll back' }));
    expect(await screen.findByRole('list', { name: 'Steps' })).toBeVisible();
  });

  it('requires a new confirmation for another plan', async () => {
    const { fake, user } = await renderJob(2, '/recovery');
    const propose = async (nth: number): Promise<HTMLElement> => {
      await user.click((await screen.findAllByRole('button', { name: /Roll back to checkpoint 5\d/ }))[nth]!);
      await screen.findByText(/A worker is verifying the files/);
      fake.installation.advance(fake.installation.nowMs + 2_000);
      return screen.findByRole('textbox', { name: /to confirm/ });
    };
    await propose(0);
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    await user.type(await propose(1), 'payments-fraud-score');
    await user.click(screen.getByRole('checkbox', { name: /accept duplicate records/ }));
    const { textContent: title } = screen.getByRole('heading', { name: /^Plan \d+: / });

    // Both plans are cached, so the page switches immediately.
    globalThis.history.go(-2);
    await waitFor(() => expect(screen.getByRole('heading', { name: /^Plan \d+: / })).not.toHaveTextContent(title));
    expect(screen.getByRole('textbox', { name: /to confirm/ })).toHaveValue('');
    expect(screen.getByRole('checkbox', { name: /accept duplicate records/ })).not.toBeChecked();
  });

  it('shows which permission a user needs to confirm a rollback', async () => {
    const { fake, user } = await renderJob(1, '/recovery', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: /Roll back to checkpoint 40/ }));
    await screen.findByText(/A worker is verifying the files/);
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByText(/needs the permission 'rollback'/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Roll back' })).toBeDisabled();
    expect(screen.queryByRole('textbox', { name: /to confirm/ })).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Discard plan' }));
    expect(await screen.findByText('discarded')).toBeVisible();
  });

  it('shows the plan in the page title until the user leaves the page of the plan', async () => {
    const { user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: /Roll back to checkpoint 40/ }));
    await screen.findByText(/A worker is verifying the files/);
    expect(document.title).toMatch(/^Plan \d+: Roll back to checkpoint 40 · Recovery · flights-delays · Weir$/);
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    await screen.findByRole('list', { name: /Checkpoints and restores/ });
    expect(document.title).toBe('Recovery · flights-delays · Weir');
    await user.click(screen.getByRole('tab', { name: 'Runs' }));
    await waitFor(() => expect(document.title).toBe('Runs · flights-delays · Weir'));
  });

  it('restores a job from an allowed path', async () => {
    const { fake, user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Restore from path…' }));
    const dialog = await screen.findByRole('dialog', { name: 'Restore flights-delays from a path' });
    const preview = within(dialog).getByRole('button', { name: 'Preview plan' });
    const pathField = within(dialog).getByRole('textbox', { name: 'Path' });
    await user.click(preview);
    expect(within(dialog).getByText('Required')).toBeVisible();
    await user.type(pathField, '/etc/secrets');
    await user.click(preview);
    expect(await within(dialog).findByText(/WEIR_RESTORE_ROOTS/)).toBeVisible();
    await user.clear(pathField);
    await user.click(pathField);
    await user.paste('/srv/checkpoints/flights-2025#800');
    expect(within(dialog).getByRole('textbox', { name: 'Checkpoint' })).toHaveValue('800');
    await user.click(preview);

    expect(await screen.findByRole('heading', { name: /Restore from checkpoint 800 in \/srv\/checkpoints\/flights-2025/ })).toBeVisible();
    await screen.findByText(/A worker is verifying the files/);
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByText(/a copy of savepoint 800 of job flights, 171 MB/)).toBeVisible();
    expect(screen.getByText('compatible')).toBeVisible();
    expect(await screen.findByRole('region', { name: 'Source positions' })).toBeVisible();
    await user.type(await screen.findByRole('textbox', { name: /to confirm/ }), 'flights-delays');
    await user.click(screen.getByRole('button', { name: 'Restore' }));
    await screen.findByRole('list', { name: 'Steps' });
    for (let step = 0; step < 3; step += 1) fake.installation.advance(fake.installation.nowMs + 1_600);
    expect(await screen.findByText(/Plan applied/)).toBeVisible();

    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    const tree = await screen.findByRole('list', { name: /Checkpoints and restores/ });
    expect(await within(tree).findByText(/restored a copy of checkpoint/)).toHaveTextContent(/^Run 5 restored a copy of checkpoint 800 from \/srv\/checkpoints\/flights-2025 by plan \d+ \(restore\)$/);
    expect(within(tree).getByText('imported').closest('li')).toHaveTextContent(/^Savepoint 62newest/);
    expect(within(tree).getByText('5 abandoned checkpoints (57 to 61)')).toBeVisible();
    await user.click(within(tree).getByRole('button', { name: 'Show checkpoints 57 to 61' }));
    expect(within(within(tree).getByText('Checkpoint 60').closest('li')!).getByText('abandoned')).toBeVisible();
    expect(within(tree).getByText('Checkpoint 61').closest('li')).toHaveFocus();
  });

  it('shows an incompatibility before the plan is applied', async () => {
    const { fake, user } = await renderJob(1, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Restore from path…' }));
    await user.type(await screen.findByRole('textbox', { name: 'Path' }), '/srv/checkpoints/orders');
    await user.click(screen.getByRole('button', { name: 'Preview plan' }));
    await screen.findByText(/A worker is verifying the files/);
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByText('incompatible')).toBeVisible();
    expect(screen.getAllByText(/This plan would fail: .*state of operator 'counts'/)).toHaveLength(1);
    const confirm = screen.getByRole('button', { name: 'Restore' });
    expect(confirm).toBeDisabled();
    expect(confirm).toHaveAccessibleDescription(/^This plan would fail: state of operator 'counts'/);
  });

  it('starts a job without state, and offers to undo this plan', async () => {
    const { fake, user } = await renderJob(3, '/recovery');
    await user.click(await screen.findByRole('button', { name: 'Start without state…' }));
    expect(await screen.findByRole('heading', { name: /Start version 2 without state/ })).toBeVisible();
    expect(screen.getByText(/A worker is listing the checkpoints to abandon/)).toBeVisible();
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByText(/retained for an undo/)).toBeVisible();
    expect(screen.getByText('All input, from the beginning.')).toBeVisible();
    await user.type(await screen.findByRole('textbox', { name: 'Type clicks-sessions to confirm' }), 'clicks-sessions');
    await user.click(screen.getByRole('button', { name: 'Start without state' }));
    expect(within(await screen.findByRole('list', { name: 'Steps' })).getByText('starting')).toBeVisible();
    for (let step = 0; step < 3; step += 1) fake.installation.advance(fake.installation.nowMs + 1_600);
    expect(await screen.findByRole('button', { name: /^Undo plan \d+$/ })).toBeEnabled();
    await user.click(screen.getByRole('link', { name: /All checkpoints and plans/ }));
    expect(await screen.findByText(/Run \d started without state/)).toHaveTextContent(/^Run \d started without state by plan \d+ \(upgrade\)$/);
  });

  it('shows no actions to viewers', async () => {
    await renderJob(1, '/recovery', { as: 'viewer' });
    await screen.findByText('Checkpoint 60');
    for (const name of [/Roll back/, /Undo/, /Start without state/, /Restore from/]) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});
