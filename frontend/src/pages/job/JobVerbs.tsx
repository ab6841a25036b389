import { Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, ListItemText, Menu, MenuItem, TextField } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify } from 'react-admin';
import { useNavigate } from 'react-router-dom';

import { api, answered, ifMatch, once } from '../../api/client';
import { useCan } from '../../auth/useCan';
import { Sure } from '../../shared/Sure';
import { Verb as VerbButton } from '../../shared/Verb';
import { usePropose } from './recovery/useRecovery';
import { useJob } from './useJob';
import { useSpec } from './useSpec';
import { verbsOf, type Offer, type Verb } from './verbs';

type Asked = Exclude<Verb, 'rescale' | 'upgrade'>;

const LABEL: Record<Verb, string> = { start: 'Start', suspend: 'Suspend', cancel: 'Cancel', savepoint: 'Savepoint', rescale: 'Rescale…', upgrade: 'New version…', delete: 'Delete…' };
/** `final`: what is lost by it does not come back. */
const SAID: Record<Asked, { asked: string; title: string; what: string; does: string; final?: true }> = {
  start: { asked: 'It is being started', title: 'Start', does: 'Start', what: 'It runs from its newest checkpoint, or from the beginning if there is none.' },
  suspend: { asked: 'It is being suspended', title: 'Suspend', does: 'Suspend', what: 'It stops with a last checkpoint, from which it goes on when it is started.' },
  cancel: {
    asked: 'It is being cancelled', title: 'Cancel', does: 'Cancel the job', final: true,
    what: 'It stops at once, without a last checkpoint. Started again, it repeats what came after the newest one.',
  },
  savepoint: { asked: 'A savepoint is being taken', title: 'Take a savepoint of', does: 'Savepoint', what: 'A checkpoint that is kept until somebody deletes it. The job goes on.' },
  delete: { asked: 'It was deleted', title: 'Delete', does: 'Delete', final: true, what: 'It is forgotten here. Its checkpoints and its output stay where they are; the logs of its runs are removed soon.' },
};

async function ask(verb: Asked, job_id: number, version: number): Promise<void> {
  const path = { job_id };
  if (verb === 'delete') {
    await answered(api.DELETE('/api/v1/jobs/{job_id}', { params: { path, header: ifMatch(version) } }));
    return;
  }
  await once((header) => {
    switch (verb) {
      case 'start':
        return api.POST('/api/v1/jobs/{job_id}/start', { params: { path, header } });
      case 'suspend':
        return api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path, header } });
      case 'cancel':
        return api.POST('/api/v1/jobs/{job_id}/cancel', { params: { path, header } });
      case 'savepoint':
        return api.POST('/api/v1/jobs/{job_id}/savepoints', { params: { path, header } });
    }
  });
}

export function JobVerbs() {
  const job = useJob();
  const [asking, setAsking] = useState<Asked | null>(null);
  const [rescaling, setRescaling] = useState(false);
  const notify = useNotify();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { mutate, isPending } = useMutation({
    mutationFn: (verb: Asked) => ask(verb, job.id, job.version),
    onSuccess: (_, verb) => {
      notify(SAID[verb].asked, { type: 'info' });
      if (verb === 'delete') void navigate('/jobs');
      // Of a job that was deleted nothing is asked for any more.
      void queries.invalidateQueries({ queryKey: verb === 'delete' ? ['jobs', 'getList'] : ['jobs'] });
    },
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => setAsking(null),
  });
  if (!useCan('operate')) return null;
  const { main, more } = verbsOf(job);
  const choose = (verb: Verb): void => {
    if (verb === 'rescale') setRescaling(true);
    else if (verb === 'upgrade') void navigate(`/jobs/${job.id}/new-version`);
    else setAsking(verb);
  };
  return (
    <>
      {main.map(({ verb, why }) => (
        <VerbButton key={verb} label={LABEL[verb]} color={verb === 'cancel' ? 'error' : 'primary'} why={isPending ? 'Something is being asked for.' : why} onClick={() => choose(verb)} />
      ))}
      <More offers={more} onChoose={choose} />
      {asking && (
        <Sure
          title={`${SAID[asking].title} ${job.name}?`}
          what={SAID[asking].what}
          does={SAID[asking].does}
          final={SAID[asking].final ?? false}
          busy={isPending}
          onConfirm={() => mutate(asking)}
          onClose={() => setAsking(null)}
        />
      )}
      {rescaling && <Rescale onClose={() => setRescaling(false)} />}
    </>
  );
}

function More({ offers, onChoose }: { offers: readonly Offer[]; onChoose(verb: Verb): void }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <>
      <Button size="small" variant="outlined" aria-haspopup="menu" aria-expanded={anchor !== null} onClick={({ currentTarget }) => setAnchor(currentTarget)}>More</Button>
      <Menu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)} slotProps={{ list: { disabledItemsFocusable: true } }}>
        {offers.map(({ verb, why }) => (
          <MenuItem
            key={verb}
            dense
            disabled={why !== null}
            // Why it cannot be done is there to be read.
            sx={{ '&.Mui-disabled': { opacity: 1 }, '&.Mui-disabled .MuiListItemText-primary': { color: 'text.disabled' } }}
            onClick={() => {
              setAnchor(null);
              onChoose(verb);
            }}
          >
            <ListItemText primary={LABEL[verb]} secondary={why} sx={{ maxWidth: 320, '& .MuiListItemText-secondary': { whiteSpace: 'normal' } }} />
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

const PARALLELISM_MAX = 1024;

/** The number only: what it would do is shown by the plan. */
function Rescale({ onClose }: { onClose(): void }) {
  const job = useJob();
  const [typed, setTyped] = useState('');
  const propose = usePropose();
  const parallelism = Number(typed);
  const { data } = useSpec();
  const now = data?.body.parallelism as number | undefined;
  const same = typed !== '' && parallelism === now;
  const fits = /^\d+$/.test(typed) && parallelism >= 1 && parallelism <= PARALLELISM_MAX && !same;
  return (
    <Dialog open onClose={onClose} aria-labelledby="rescale-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (fits) propose.mutate({ kind: 'rescale', parallelism }, { onSettled: onClose });
        }}
      >
        <DialogTitle id="rescale-title">Rescale {job.name}</DialogTitle>
        <DialogContent>
          <DialogContentText sx={{ mb: 2 }}>The job is stopped with a last checkpoint, and goes on from it with so many subtasks of each operator. You see what it would do first.</DialogContentText>
          {/* eslint-disable-next-line jsx-a11y/no-autofocus -- a dialog with one field */}
          <TextField autoFocus label="Parallelism" value={typed} onChange={({ target: { value } }) => setTyped(value)} error={typed !== '' && !fits} helperText={same ? `It is ${now} now: there is nothing to rescale` : `1 to ${PARALLELISM_MAX}${now === undefined ? '' : `; now ${now}`}`} slotProps={{ htmlInput: { inputMode: 'numeric' } }} />
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" variant="contained" disabled={!fits || propose.isPending}>See what it would do</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
