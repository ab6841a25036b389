import { Box, Button } from '@mui/material';
import { DataTable, Link } from 'react-admin';
import { useSearchParams } from 'react-router-dom';

import { useCan } from '../../../auth/useCan';
import type { Schemas } from '../../../api/types';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';
import { Difference } from './Difference';

type Spec = Schemas['SpecShown'];

export default function Versions() {
  const job = useJob();
  const may = useCan('operate');
  const [search, setSearch] = useSearchParams();
  const compared = comparedIn(search.get('compare'));
  return (
    <>
      <ListPanel
        resource="specs"
        title="Versions"
        filter={{ job_id: job.id }}
        sort={{ field: 'number', order: 'DESC' }}
        actions={may && <Button size="small" component={Link} to={`/jobs/${job.id}/new-version`}>New version…</Button>}
        empty={<Empty title="There is no version yet" />}
      >
        <DataTable bulkActionButtons={false} rowClick={false} size="small">
          <DataTable.Col source="number" label="Version" render={(spec: Spec) => <Link to={`/jobs/${job.id}/review/${spec.number}`} aria-label={`Version ${spec.number}: its graph and settings`}>{spec.number}</Link>} />
          <DataTable.Col source="state" disableSort render={(spec: Spec) => <Code of={spec} inForce={spec.number === job.spec_number} />} />
          <DataTable.Col source="comment" disableSort sx={{ overflowWrap: 'anywhere', minWidth: 150 }} />
          <DataTable.Col source="created_at" label="Made" sx={{ whiteSpace: 'nowrap' }} render={(spec: Spec) => <Ago at={spec.created_at} clock />} />
          <DataTable.Col
            label="Compare"
            disableSort
            sx={{ whiteSpace: 'nowrap' }}
            render={(spec: Spec) =>
              spec.number > 1 && (
                <Button size="small" onClick={() => setSearch({ compare: `${spec.number - 1}..${spec.number}` }, { replace: true })}>with version {spec.number - 1}</Button>
              )
            }
          />
        </DataTable>
      </ListPanel>
      {compared && <Difference jobId={job.id} {...compared} onClose={() => setSearch({}, { replace: true })} />}
    </>
  );
}

/** `?compare=1..2`: in the address, so that it can be sent to somebody. */
function comparedIn(said: string | null): { before: number; after: number } | null {
  const [, before, after] = /^([1-9]\d{0,8})\.\.([1-9]\d{0,8})$/.exec(said ?? '') ?? [];
  return before === undefined || after === undefined ? null : { before: Number(before), after: Number(after) };
}

function Code({ of, inForce }: { of: Spec; inForce: boolean }) {
  return (
    <Box sx={{ display: 'flex', gap: 1, alignItems: 'center', flexWrap: 'wrap' }}>
      <State of="spec" is={of.state} />
      {inForce && <State of="run" is="RUNNING" label="in force" />}
      {of.problem && <Box sx={{ overflowWrap: 'anywhere' }}>{of.problem}</Box>}
    </Box>
  );
}
