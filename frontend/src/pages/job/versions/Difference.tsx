import { Box, Button, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { answered, api } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { useHandOver } from '../../../shared/useHandOver';

interface Props {
  jobId: number;
  before: number;
  after: number;
  onClose(): void;
}

/** What differs between two versions: settings, operators, code. */
export function Difference({ jobId, before, after, onClose }: Props) {
  const query = useQuery({
    queryKey: ['job', jobId, 'specs', 'diff', before, after],
    staleTime: Infinity, // versions never change
    queryFn: ({ signal }) =>
      answered(api.GET('/api/v1/jobs/{job_id}/specs/{before}/diff/{after}', { params: { path: { job_id: jobId, before, after } }, signal })),
  });
  // It is opened by what has the keyboard then, and closing it leads back there.
  const openedBy = useRef<Element | null>(null);
  useEffect(() => {
    openedBy.current = document.activeElement;
  }, [before, after]);
  const ref = useHandOver(() => openedBy.current as HTMLElement | null);
  return (
    <Panel title={`From version ${before} to version ${after}`} actions={<Button ref={ref} size="small" onClick={onClose}>Close</Button>}>
      <Answered query={query}>{(diff) => <Content diff={diff} />}</Answered>
    </Panel>
  );
}

function Content({ diff }: { diff: Schemas['SpecDiff'] }) {
  const operators = [
    ['Operators added', diff.operators_added.join(', ')],
    ['Operators removed', diff.operators_removed.join(', ')],
    ['Operators changed', diff.operators_changed.join(', ')],
  ] as const;
  const some = operators.filter(([, value]) => value !== '');
  if (diff.changes.length === 0 && some.length === 0 && !diff.code) return <Empty title="They are the same" />;
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
      {some.length > 0 && <Facts of={some} />}
      {diff.changes.length > 0 && (
        <Table size="small">
          <TableHead><TableRow><TableCell>Setting</TableCell><TableCell>Before</TableCell><TableCell>After</TableCell></TableRow></TableHead>
          <TableBody>
            {diff.changes.map(({ path, before, after }) => (
              <TableRow key={path}>
                <TableCell><code>{path}</code></TableCell>
                <TableCell sx={{ overflowWrap: 'anywhere' }}>{shown(before)}</TableCell>
                <TableCell sx={{ overflowWrap: 'anywhere' }}>{shown(after)}</TableCell>
              </TableRow>
            ))}
          </TableBody>
        </Table>
      )}
      {diff.code && <Code lines={diff.code.split('\n')} />}
    </Box>
  );
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'not there';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A unified diff. Signs at the beginning of lines say the same as the colours. */
function Code({ lines }: { lines: string[] }) {
  return (
    // It scrolls, so the keyboard has to reach it.
    <Box component="pre" role="region" tabIndex={0} aria-label="Changes of the code" sx={{ m: 0, overflowX: 'auto', lineHeight: 1.5 }}>
      {lines.map((line, at) => (
        <Box key={at} component="span" sx={{ display: 'block', color: line.startsWith('+') ? 'success.main' : line.startsWith('-') ? 'error.main' : 'text.primary' }}>
          {line || ' '}
        </Box>
      ))}
    </Box>
  );
}
