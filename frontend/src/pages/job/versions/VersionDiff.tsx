import { Box, Button, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { unwrap, api } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { DescriptionList } from '../../../shared/DescriptionList';
import { Panel } from '../../../shared/Panel';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';

interface Props {
  jobId: number;
  before: number;
  after: number;
  onClose(): void;
}

/** The differences between two versions in settings, operators and code. */
export function VersionDiff({ jobId, before, after, onClose }: Props) {
  const query = useQuery({
    queryKey: ['job', jobId, 'specs', 'diff', before, after],
    staleTime: Infinity, // The content of a version never changes.
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/jobs/{job_id}/specs/{before}/diff/{after}', { params: { path: { job_id: jobId, before, after } }, signal })),
  });
  // When the comparison is closed, the focus returns to the element that opened it.
  const openedBy = useRef<Element | null>(null);
  useEffect(() => {
    openedBy.current = document.activeElement;
  }, [before, after]);
  const ref = useFocusHandoff(() => openedBy.current as HTMLElement | null);
  return (
    <Panel title={`Compare version ${before} with version ${after}`} actions={<Button ref={ref} size="small" onClick={onClose}>Close</Button>}>
      <QueryContent query={query}>{(diff) => <Content diff={diff} />}</QueryContent>
    </Panel>
  );
}

function Content({ diff }: { diff: Schemas['SpecDiffRead'] }) {
  const operators = [
    ['Added operators', diff.operators_added.join(', ')],
    ['Removed operators', diff.operators_removed.join(', ')],
    ['Changed operators', diff.operators_changed.join(', ')],
  ] as const;
  const some = operators.filter(([, value]) => value !== '');
  if (diff.changes.length === 0 && some.length === 0 && !diff.code) return <EmptyState title="No differences" />;
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
      {some.length > 0 && <DescriptionList items={some} />}
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
  if (value === null || value === undefined) return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Shows a unified diff. The signs + and - have the same meaning as the colours of the lines. */
function Code({ lines }: { lines: string[] }) {
  return (
    // The region is focusable, so that users can scroll it with the keyboard.
    <Box component="pre" role="region" tabIndex={0} aria-label="Code changes" sx={{ m: 0, overflowX: 'auto', lineHeight: 1.5 }}>
      {lines.map((line, at) => (
        <Box key={at} component="span" sx={{ display: 'block', color: line.startsWith('+') ? 'success.main' : line.startsWith('-') ? 'error.main' : 'text.primary' }}>
          {line || ' '}
        </Box>
      ))}
    </Box>
  );
}
