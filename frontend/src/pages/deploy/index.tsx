import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { usePermissions } from 'react-admin';
import { useNavigate, useParams, useSearchParams } from 'react-router-dom';

import { unwrap, api } from '../../api/client';
import type { Permission } from '../../api/types';
import { EmptyState, LoadingState, QueryContent } from '../../shared/DataStates';
import { Page } from '../../shared/Page';
import { draftFromSpec, EMPTY_DRAFT, type Draft } from './draft';
import { SpecForm } from './SpecForm';
import { deploy, latestVersion, newVersion, NewerVersionError, type BaseVersion } from './submit';

interface Submission {
  draft: Draft;
  file: File | null;
}

/** Shows the form only to users with the permission to submit it. */
function RequireOperator({ children }: { children: ReactNode }) {
  const { permissions, isPending } = usePermissions<Permission[]>();
  if (isPending) return <LoadingState height={320} />;
  if (!permissions?.includes('operate')) return <EmptyState title="You cannot deploy jobs">Deploying requires the role operator. Ask an administrator.</EmptyState>;
  return children;
}

/** Deploys a new job. With `?again=7`, the new job replaces job 7, which did not compile. */
export function DeployPage() {
  const [search] = useSearchParams();
  const again = Number(search.get('again') ?? 0);
  return (
    <Page title="Deploy a job">
      <RequireOperator>
        {again > 0 ? <WithBaseVersion jobId={again} version={null}>{(before) => <Deploy instead={before} />}</WithBaseVersion> : <Deploy instead={null} />}
      </RequireOperator>
    </Page>
  );
}

function Deploy({ instead }: { instead: BaseVersion | null }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const sending = useMutation({
    mutationFn: ({ draft, file }: Submission) => deploy(draft, file, instead),
    onSuccess: (job) => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      void navigate(`/jobs/${job.id}/review/${job.spec_number}`, { replace: instead !== null });
    },
  });
  return (
    <SpecForm
      initial={instead ? draftFromSpec(instead.job, instead.body) : EMPTY_DRAFT}
      isNewVersion={false}
      defaultFile={instead ? 'The file that was uploaded before' : null}
      busy={sending.isPending}
      error={sending.error}
      onSend={(draft, file) => sending.mutate({ draft, file })}
    >
      You can review the graph before starting the job.
    </SpecForm>
  );
}

/** Creates a version of a job, based on the current version or, with `?from=3`, on version 3. */
export function NewVersionPage() {
  const { jobId } = useParams();
  const [search] = useSearchParams();
  const from = Number(search.get('from') ?? 0);
  return (
    <Page title="New version">
      <RequireOperator>
        <WithBaseVersion jobId={Number(jobId)} version={from > 0 ? from : null}>{(before) => <NewVersion before={before} />}</WithBaseVersion>
      </RequireOperator>
    </Page>
  );
}

function NewVersion({ before }: { before: BaseVersion }) {
  const navigate = useNavigate();
  const [newest, setNewest] = useState(before.newest);
  const sending = useMutation({
    mutationFn: ({ draft, file }: Submission) => newVersion(draft, file, { ...before, newest }),
    onError: (error) => {
      if (error instanceof NewerVersionError) setNewest(error.newest);
    },
    onSuccess: (spec) => void navigate(`/jobs/${spec.job_id}/review/${spec.number}`),
  });
  return (
    <SpecForm
      initial={draftFromSpec(before.job, before.body)}
      isNewVersion
      defaultFile="The file of the previous version"
      busy={sending.isPending}
      error={sending.error}
      onSend={(draft, file) => sending.mutate({ draft, file })}
    >
      {before.job.name} keeps running its current version until you upgrade it.
    </SpecForm>
  );
}

function WithBaseVersion({ jobId, version, children }: { jobId: number; version: number | null; children: (before: BaseVersion) => ReactNode }) {
  const query = useQuery({
    queryKey: ['deploy', jobId, version],
    // Do not refetch, because a refetch would reset fields that the user has edited.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }): Promise<BaseVersion> => {
      const job = await unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: jobId } }, signal }));
      const { body } = await unwrap(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: jobId, number: version ?? job.spec_number } }, signal }));
      return { job, body, newest: await latestVersion(jobId, signal) };
    },
  });
  return <QueryContent query={query} height={320}>{children}</QueryContent>;
}
