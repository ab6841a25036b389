import { Button } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm, useNotify } from 'react-admin';

import { api, once } from '../../api/client';
import { useCan } from '../../auth/useCan';
import { useJob, type Job } from './useJob';

type Verb = 'start' | 'suspend' | 'cancel' | 'savepoint';

const SAID: Record<Verb, { label: string; asked: string; title: string; what: string }> = {
  start: { label: 'Start', asked: 'It is being started', title: 'Start', what: 'It runs from its newest checkpoint, or from the beginning if there is none.' },
  suspend: { label: 'Suspend', asked: 'It is being suspended', title: 'Suspend', what: 'It stops with a last checkpoint, from which it goes on when it is started.' },
  cancel: {
    label: 'Cancel', asked: 'It is being cancelled', title: 'Cancel',
    what: 'It stops at once, without a last checkpoint. Started again, it repeats what came after the newest one.',
  },
  savepoint: { label: 'Savepoint', asked: 'A savepoint is being taken', title: 'Take a savepoint of', what: 'A checkpoint that is kept until somebody deletes it. The job goes on.' },
};

/** Which verbs make sense, by what is wanted of the job. */
export function verbsOf({ desired_state, state }: Pick<Job, 'desired_state' | 'state'>): Verb[] {
  if (desired_state === 'RUNNING' && state !== 'FINISHED') return state === 'FAILED' ? ['start', 'cancel'] : ['savepoint', 'suspend', 'cancel'];
  return ['start'];
}

function ask(verb: Verb, job_id: number) {
  const path = { job_id };
  return once((header) => {
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
  const [asking, setAsking] = useState<Verb | null>(null);
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (verb: Verb) => ask(verb, job.id),
    onSuccess: (_, verb) => {
      notify(SAID[verb].asked, { type: 'info' });
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => setAsking(null),
  });
  if (!useCan('operate')) return null;
  return (
    <>
      {verbsOf(job).map((verb) => (
        <Button key={verb} size="small" variant="outlined" color={verb === 'cancel' ? 'error' : 'primary'} disabled={isPending} onClick={() => setAsking(verb)}>
          {SAID[verb].label}
        </Button>
      ))}
      {asking && (
        <Confirm
          isOpen
          loading={isPending}
          title={`${SAID[asking].title} ${job.name}?`}
          content={SAID[asking].what}
          confirm={SAID[asking].label}
          cancel="Leave it"
          onConfirm={() => mutate(asking)}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}
