import { Alert, Box, CircularProgress, Table, TableBody, TableCell, TableHead, TableRow, Typography } from '@mui/material';
import { useMemo, type ReactNode } from 'react';

import { sentence } from '../../../api/problem';
import { bytes, pluralize, duration } from '../../../format';
import { AbsoluteTime } from '../../../shared/Time';
import { DescriptionList } from '../../../shared/DescriptionList';
import { StateChip } from '../../../shared/StateChip';
import { parseGraph } from '../physicalGraph';
import { useDeployedRun, useGraph } from '../useJob';
import { checkpointNumbers, duplicatedRecords, inspectionProblem, isInStorage, revokesOutput, splitPosition } from './planText';
import type { Plan } from './useRecovery';

/** The id of the element with the reason why the plan would fail. */
export const PROBLEM_ID = 'why-not-working';

type Inspection = NonNullable<Plan['preview']['inspection']>;

/** Shows the effects of a plan: the restored state, source positions, restarted operators and output. */
export function PlanPreview({ plan }: { plan: Plan }) {
  const { preview } = plan;
  const { inspection } = preview;
  const problem = inspectionProblem(plan);
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
      {inspection === null && <Inspecting at={plan} />}
      {problem && <Alert id={PROBLEM_ID} severity="error" variant="outlined">This plan would fail: {problem}.</Alert>}
      {preview.warnings.map((warning) => <Alert key={warning} severity="warning" variant="outlined">{sentence(warning)}</Alert>)}
      {preview.sinks_with_duplicates.length > 0 && (
        <Alert severity="warning" variant="outlined">
          Readers of {preview.sinks_with_duplicates.join(', ')} can see duplicate records, because this output cannot be revoked.
          {inspection && duplicatedRecords(inspection).map((text) => <Box key={text}>{sentence(text)}</Box>)}
        </Alert>
      )}
      <DescriptionList items={factsOf(plan)} />
      <Box sx={{ display: 'grid', gap: 3, gridTemplateColumns: { xs: 'minmax(0, 1fr)', md: 'minmax(0, 1fr) minmax(0, 1fr)' } }}>
        <Part title="Source positions"><Sources of={plan} /></Part>
        <Part title="Effect on output"><Sinks of={plan} /></Part>
        <Part title="Steps">
          <Box component="ol" sx={{ m: 0, pl: 2.5 }}>{preview.steps.map((step) => <li key={step}>{step}</li>)}</Box>
        </Part>
        <Part title={`Restarted operators (${preview.restarted_operators.length})`}>
          <Box sx={{ overflowWrap: 'anywhere' }}><OperatorNames uids={preview.restarted_operators} /></Box>
        </Part>
      </Box>
    </Box>
  );
}

/** Shows operators by name. A plan contains only uids, so the names come from the graph of the newest run. */
function OperatorNames({ uids }: { uids: readonly string[] }) {
  const { data } = useGraph(useDeployedRun());
  const names = useMemo(() => new Map(data && parseGraph(data.graph).chains.flatMap(({ operators }) => operators.map(({ uid, name }) => [uid, name]))), [data]);
  return <>{uids.map((uid) => names.get(uid) ?? uid).join(', ') || 'unknown, because the job has no graph yet'}</>;
}

type Fact = [name: string, value: ReactNode];

function factsOf(plan: Plan): Fact[] {
  const { inspection } = plan.preview;
  if (inspection === null) return stateOf(plan);
  const { abandoned, reinstated, notes } = inspection;
  const { intact, files } = inspection;
  const found: Fact[] = isInStorage(plan) && (files > 0 || !intact) ? [['Checkpoint files', <FilesStatus key="files" of={inspection} />]] : [];
  if (plan.preview.without_state !== true && intact) found.push(['Compatibility', <Compatibility key="compatible" plan={plan} compatible={!inspection.incompatibility} />]);
  if (revokesOutput(plan) && intact) found.push(['Abandoned checkpoints', abandoned.length === 0 ? 'none' : `${checkpointNumbers(abandoned)}, retained for an undo`]);
  if (reinstated.length > 0) found.push(['Output reinstated', checkpointNumbers(reinstated)]);
  if (notes.length > 0) found.push(['Notes', <>{notes.map((note) => <Box key={note}>{sentence(note)}</Box>)}</>]);
  return [...stateOf(plan), ...found];
}

/** Return the state from which the job starts, and the input that the job reads again. */
function stateOf({ preview }: Plan): Fact[] {
  const { checkpoint, path, without_state, inspection } = preview;
  if (without_state) return [['State', 'none'], ['Input read again', 'all']];
  if (path) {
    const found = inspection?.external_checkpoint;
    if (!found) return [['State', <>a copy of a checkpoint in <code>{path}</code></>]];
    return [
      ['State', <>a copy of {found.is_savepoint ? 'savepoint' : 'checkpoint'} {found.checkpoint} of job {found.job}, {bytes(found.state_bytes)}</>],
      ['Path', <code key="place">{path}</code>],
      ['Taken', <AbsoluteTime key="taken" at={found.completed_at} />],
    ];
  }
  if (checkpoint === null)
    return [['State', preview.stop_with === 'Cancel' ? 'the newest completed checkpoint, because the job stops without a last checkpoint' : 'a last checkpoint that the job takes when it stops, so that no input is read again']];
  return [
    ['State', `${preview.is_savepoint ? 'savepoint' : 'checkpoint'} ${checkpoint}, ${bytes(preview.state_bytes)}`],
    ['Taken', <AbsoluteTime key="taken" at={preview.completed_at} />],
    ['Input read again', preview.age_s === null ? null : `everything read since this checkpoint, which was ${duration(preview.age_s * 1000)} old when the plan was proposed`],
  ];
}

/** Shows whether the state is compatible with the graph. */
function Compatibility({ plan: { request }, compatible }: { plan: Plan; compatible: boolean }) {
  return (
    <Box component="span" sx={{ display: 'inline-flex', gap: 1, alignItems: 'center', flexWrap: 'wrap' }}>
      <StateChip kind="checkpoint" state={compatible ? 'COMPLETED' : 'FAILED'} label={compatible ? 'compatible' : 'incompatible'} />
      with the operators of version {String(request.spec)}
    </Box>
  );
}

function FilesStatus({ of: { intact, files, bytes: size } }: { of: Inspection }) {
  if (!intact) return <StateChip kind="checkpoint" state="FAILED" label="damaged" />;
  return <Box component="span" sx={{ display: 'inline-flex', gap: 1, alignItems: 'center' }}><StateChip kind="checkpoint" state="COMPLETED" label="intact" />{pluralize(files, 'file')} match their checksums, {bytes(size)}</Box>;
}

function Inspecting({ at }: { at: Plan }) {
  const what = isInStorage(at) ? 'verifying the files of the checkpoint' : at.preview.without_state ? 'listing the checkpoints to abandon' : 'checking whether the state is compatible with the new version';
  return (
    <Box role="status" sx={{ display: 'flex', gap: 1.5, alignItems: 'center', color: 'text.secondary' }}>
      <CircularProgress size={18} thickness={5} aria-label="Inspecting" />
      A worker is {what}. The preview is not complete yet. The job is not affected.
    </Box>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return <Box component="section" sx={{ minWidth: 0 }}><Typography variant="h3" sx={{ mb: 0.75 }}>{title}</Typography>{children}</Box>;
}

function Sources({ of }: { of: Plan }) {
  const { inspection, without_state } = of.preview;
  if (without_state) return <Muted>All input, from the beginning.</Muted>;
  if (!isInStorage(of)) return <Muted>Sources continue at the positions that they have when the job stops.</Muted>;
  if (inspection === null) return <Muted>Inspection in progress.</Muted>;
  if (!inspection.intact && inspection.sources.length === 0) return <Muted>Unknown.</Muted>;
  if (inspection.sources.length === 0) return <Muted>All sources had already ended when this checkpoint was taken.</Muted>;
  return (
    <Box tabIndex={0} role="region" aria-label="Source positions" sx={{ maxHeight: 480, overflow: 'auto' }}>
      <Table size="small">
        <TableHead><TableRow><TableCell>Source</TableCell><TableCell>Split</TableCell><TableCell>Read again from</TableCell></TableRow></TableHead>
        <TableBody>
          {inspection.sources.flatMap(({ source, splits }) =>
            splits.map(splitPosition).map(({ split, from }, at) => (
              <TableRow key={`${source}-${at}`}>
                <TableCell sx={{ fontWeight: 600 }}>{at === 0 ? source : ''}</TableCell>
                <TableCell sx={{ overflowWrap: 'anywhere' }}><code>{split}</code></TableCell>
                <TableCell sx={{ overflowWrap: 'anywhere' }}>{from}</TableCell>
              </TableRow>
            )),
          )}
        </TableBody>
      </Table>
    </Box>
  );
}

function Sinks({ of }: { of: Plan }) {
  const { inspection, sinks_with_duplicates: duplicates } = of.preview;
  if (inspection === null) return <Muted>Inspection in progress.</Muted>;
  if (inspection.sinks.length === 0) return <Muted>The job has no sinks.</Muted>;
  return (
    <Table size="small">
      <TableHead><TableRow><TableCell>Sink</TableCell><TableCell>Kind</TableCell><TableCell>Effect</TableCell></TableRow></TableHead>
      <TableBody>
        {inspection.sinks.map(({ sink, kind, revocable, records }) => (
          <TableRow key={sink}>
            <TableCell sx={{ fontWeight: 600 }}>{sink}</TableCell>
            <TableCell>{kind}</TableCell>
            <TableCell>
              {duplicates.includes(sink) ? (
                <StateChip kind="backpressure" state="low" label={records ? `readers see at least ${pluralize(records, 'record')} twice` : 'readers see records twice'} />
              ) : !revokesOutput(of) || !revocable ? 'continues' : 'revokes the output that was committed after the checkpoint (an undo reinstates this output)'}
            </TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}

function Muted({ children }: { children: ReactNode }) {
  return <Box sx={{ color: 'text.secondary' }}>{children}</Box>;
}
