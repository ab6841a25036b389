import { Box, Button } from '@mui/material';
import { DataTable, Link } from 'react-admin';
import { useSearchParams } from 'react-router-dom';

import { useCan } from '../../../auth/permissions';
import type { Schemas } from '../../../api/types';
import { RelativeTime } from '../../../shared/Time';
import { ListPanel } from '../../../shared/ListPanel';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { useJob } from '../useJob';
import { VersionDiff } from './VersionDiff';

type Spec = Schemas['SpecRead'];

export default function Versions() {
  const job = useJob();
  const may = useCan('operate');
  const [search, setSearch] = useSearchParams();
  const compared = parseComparison(search.get('compare'));
  return (
    <>
      <ListPanel
        resource="specs"
        title="Versions"
        filter={{ job_id: job.id }}
        sort={{ field: 'number', order: 'DESC' }}
        actions={may && <Button size="small" component={Link} to={`/jobs/${job.id}/new-version`}>New version…</Button>}
        empty={<EmptyState title="No versions yet" />}
      >
        <DataTable bulkActionButtons={false} rowClick={false} size="small">
          <DataTable.Col source="number" label="Version" render={(spec: Spec) => <Link to={`/jobs/${job.id}/review/${spec.number}`} aria-label={`Version ${spec.number}: graph and settings`}>{spec.number}</Link>} />
          <DataTable.Col source="state" disableSort render={(spec: Spec) => <Code of={spec} current={spec.number === job.spec_number} />} />
          <DataTable.Col source="comment" disableSort sx={{ overflowWrap: 'anywhere', minWidth: 150 }} />
          <DataTable.Col source="created_at" label="Created" sx={{ whiteSpace: 'nowrap' }} render={(spec: Spec) => <RelativeTime at={spec.created_at} clock />} />
          <DataTable.Col
            label="Compare"
            disableSort
            sx={{ whiteSpace: 'nowrap' }}
            render={(spec: Spec) =>
              spec.number > 1 && (
                <Button size="small" onClick={() => setSearch({ compare: `${spec.number - 1}..${spec.number}` }, { replace: true })}>Compare with version {spec.number - 1}</Button>
              )
            }
          />
        </DataTable>
      </ListPanel>
      {compared && <VersionDiff jobId={job.id} {...compared} onClose={() => setSearch({}, { replace: true })} />}
    </>
  );
}

/** Parse `?compare=1..2`. The comparison is in the URL, so that users can share it. */
function parseComparison(text: string | null): { before: number; after: number } | null {
  const [, before, after] = /^([1-9]\d{0,8})\.\.([1-9]\d{0,8})$/.exec(text ?? '') ?? [];
  return before === undefined || after === undefined ? null : { before: Number(before), after: Number(after) };
}

function Code({ of, current }: { of: Spec; current: boolean }) {
  return (
    <Box sx={{ display: 'flex', gap: 1, alignItems: 'center', flexWrap: 'wrap' }}>
      <StateChip kind="spec" state={of.state} />
      {current && <StateChip kind="run" state="RUNNING" label="current" />}
      {of.problem && <Box sx={{ overflowWrap: 'anywhere' }}>{of.problem}</Box>}
    </Box>
  );
}
