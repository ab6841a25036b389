import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { usePermissions } from 'react-admin';
import { useNavigate, useParams, useSearchParams } from 'react-router-dom';

import { answered, api } from '../../api/client';
import type { Permission } from '../../api/types';
import { Answered } from '../../shared/Answered';
import { Page } from '../../shared/Page';
import { Empty, Waiting } from '../../shared/Standins';
import { draftOf, EMPTY, type Draft } from './draft';
import { Form } from './Form';
import { deploy, newestVersion, newVersion, Overtaken, type Before } from './sending';

interface Sent {
  draft: Draft;
  file: File | null;
}

/** Nobody fills in a form that he may not send. */
function ForOperators({ children }: { children: ReactNode }) {
  const { permissions, isPending } = usePermissions<Permission[]>();
  if (isPending) return <Waiting height={320} />;
  if (!permissions?.includes('operate')) return <Empty title="You may not deploy jobs">This needs the role operator: ask an administrator for it.</Empty>;
  return children;
}

/** A new job. `?again=7`: job 7 did not compile, and is made anew. */
export function DeployPage() {
  const [search] = useSearchParams();
  const again = Number(search.get('again') ?? 0);
  return (
    <Page title="Deploy a job">
      <ForOperators>
        {again > 0 ? <FromBefore jobId={again} version={null}>{(before) => <Deploy instead={before} />}</FromBefore> : <Deploy instead={null} />}
      </ForOperators>
    </Page>
  );
}

function Deploy({ instead }: { instead: Before | null }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const sending = useMutation({
    mutationFn: ({ draft, file }: Sent) => deploy(draft, file, instead),
    onSuccess: (job) => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      void navigate(`/jobs/${job.id}/review/${job.spec_number}`, { replace: instead !== null });
    },
  });
  return (
    <Form
      initial={instead ? draftOf(instead.job, instead.body) : EMPTY}
      named={false}
      otherwise={instead ? 'the file that was uploaded before' : null}
      busy={sending.isPending}
      error={sending.error}
      onSend={(draft, file) => sending.mutate({ draft, file })}
    >
      You see its graph before it is started.
    </Form>
  );
}

/** Another version of a job, from the one in force or from `?from=3`. */
export function NewVersionPage() {
  const { jobId } = useParams();
  const [search] = useSearchParams();
  const from = Number(search.get('from') ?? 0);
  return (
    <Page title="A new version">
      <ForOperators>
        <FromBefore jobId={Number(jobId)} version={from > 0 ? from : null}>{(before) => <NewVersion before={before} />}</FromBefore>
      </ForOperators>
    </Page>
  );
}

function NewVersion({ before }: { before: Before }) {
  const navigate = useNavigate();
  const [newest, setNewest] = useState(before.newest);
  const sending = useMutation({
    mutationFn: ({ draft, file }: Sent) => newVersion(draft, file, { ...before, newest }),
    onError: (error) => {
      if (error instanceof Overtaken) setNewest(error.newest);
    },
    onSuccess: (spec) => void navigate(`/jobs/${spec.job_id}/review/${spec.number}`),
  });
  return (
    <Form
      initial={draftOf(before.job, before.body)}
      named
      otherwise="the file of the version before"
      busy={sending.isPending}
      error={sending.error}
      onSend={(draft, file) => sending.mutate({ draft, file })}
    >
      {before.job.name} goes on as it is until you upgrade it to this version.
    </Form>
  );
}

function FromBefore({ jobId, version, children }: { jobId: number; version: number | null; children: (before: Before) => ReactNode }) {
  const query = useQuery({
    queryKey: ['deploy', jobId, version],
    // Typed fields are not to be taken away by an answer that comes again.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }): Promise<Before> => {
      const job = await answered(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: jobId } }, signal }));
      const { body } = await answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: jobId, number: version ?? job.spec_number } }, signal }));
      return { job, body, newest: await newestVersion(jobId, signal) };
    },
  });
  return <Answered query={query} height={320}>{children}</Answered>;
}
