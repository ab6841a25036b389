import { Alert, Box, CircularProgress, Table, TableBody, TableCell, TableHead, TableRow, Typography } from '@mui/material';
import { useMemo, type ReactNode } from 'react';

import { bytes, counted, duration } from '../../../format';
import { When } from '../../../shared/Ago';
import { Facts } from '../../../shared/Facts';
import { State } from '../../../shared/State';
import { graphOf } from '../overview/graph';
import { useDeployedRun, useGraph } from '../useGraph';
import { goesBack, isInStorage, whyNotWorking } from './allowed';
import { numbered, positionOf, twice } from './planWords';
import type { Plan } from './useRecovery';

/** The id of what says why it would not work. */
export const OBSTACLE = 'why-not-working';

type Inspection = NonNullable<Plan['preview']['inspection']>;

/** What would happen: which state is used, what is read again, who restarts, what readers of the sinks see. */
export function Preview({ plan }: { plan: Plan }) {
  const { preview } = plan;
  const { inspection } = preview;
  const obstacle = whyNotWorking(plan);
  return (
    <Box sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
      {inspection === null && <Looking at={plan} />}
      {obstacle && <Alert id={OBSTACLE} severity="error" variant="outlined">{obstacle}</Alert>}
      {preview.warnings.map((warning) => <Alert key={warning} severity="warning" variant="outlined">{sentence(warning)}</Alert>)}
      {preview.duplicates.length > 0 && (
        <Alert severity="warning" variant="outlined">
          Readers of {preview.duplicates.join(', ')} will see records twice: what was handed on there cannot be taken back.
          {inspection && twice(inspection).map((text) => <Box key={text}>{sentence(text)}</Box>)}
        </Alert>
      )}
      <Facts of={factsOf(plan)} />
      <Box sx={{ display: 'grid', gap: 3, gridTemplateColumns: { xs: 'minmax(0, 1fr)', md: 'minmax(0, 1fr) minmax(0, 1fr)' } }}>
        <Part title="What is read again"><Sources of={plan} /></Part>
        <Part title="What becomes of the output"><Sinks of={plan} /></Part>
        <Part title="What is done">
          <Box component="ol" sx={{ m: 0, pl: 2.5 }}>{preview.steps.map((step) => <li key={step}>{step}</li>)}</Box>
        </Part>
        <Part title={`Operators that restart (${preview.restarts.length})`}>
          <Box sx={{ overflowWrap: 'anywhere' }}><Named uids={preview.restarts} /></Box>
        </Part>
      </Box>
    </Box>
  );
}

/** As the graph of the newest run calls them; a plan has their uids. */
function Named({ uids }: { uids: readonly string[] }) {
  const { data } = useGraph(useDeployedRun());
  const names = useMemo(() => new Map(data && graphOf(data.graph).chains.flatMap(({ operators }) => operators.map(({ uid, name }) => [uid, name]))), [data]);
  return <>{uids.map((uid) => names.get(uid) ?? uid).join(', ') || 'not known: the graph is not'}</>;
}

type Fact = [name: string, value: ReactNode];

function factsOf(plan: Plan): Fact[] {
  const { inspection } = plan.preview;
  if (inspection === null) return stateOf(plan);
  const { abandoned, returning, notes } = inspection;
  const { whole, files } = inspection;
  const found: Fact[] = isInStorage(plan) && (files > 0 || !whole) ? [['Its files', <Whole key="files" of={inspection} />]] : [];
  if (plan.preview.anew !== true && whole) found.push(['Compatibility', <Fits key="fits" plan={plan} fits={!inspection.misfit} />]);
  if (goesBack(plan) && whole) found.push(['Left behind', abandoned.length === 0 ? 'nothing' : `${numbered(abandoned)}: kept, so that this can be undone`]);
  if (returning.length > 0) found.push(['Shown again', numbered(returning)]);
  if (notes.length > 0) found.push(['Notes', <>{notes.map((note) => <Box key={note}>{sentence(note)}</Box>)}</>]);
  return [...stateOf(plan), ...found];
}

/** Which state the job would go on with, and what is repeated by that. */
function stateOf({ preview }: Plan): Fact[] {
  const { checkpoint, origin, anew, inspection } = preview;
  if (anew) return [['State used', 'none: it begins anew'], ['Repeated', 'all input']];
  if (origin) {
    const found = inspection?.origin;
    if (!found) return [['State used', <>a copy of a checkpoint in <code>{origin}</code></>]];
    return [
      ['State used', <>a copy of {found.is_savepoint ? 'savepoint' : 'checkpoint'} {found.checkpoint} of job {found.job}, {bytes(found.state_bytes)}</>],
      ['It is in', <code key="place">{origin}</code>],
      ['Taken', <When key="taken" at={found.completed_at} />],
    ];
  }
  if (checkpoint === null)
    return [['State used', preview.stop_with === 'Cancel' ? 'the newest completed checkpoint: the job is stopped at once' : 'a last checkpoint, with which the job is stopped: nothing is repeated']];
  return [
    ['State used', `${preview.is_savepoint ? 'savepoint' : 'checkpoint'} ${checkpoint}, ${bytes(preview.state_bytes)}`],
    ['Taken', <When key="taken" at={preview.completed_at} />],
    ['Repeated', preview.age_s === null ? null : `all that was read since then: in ${duration(preview.age_s * 1000)} until this plan was made, and after it`],
  ];
}

/** As far as a worker can tell before it runs. What it could not find out is among the notes. */
function Fits({ plan: { request }, fits }: { plan: Plan; fits: boolean }) {
  return (
    <Box component="span" sx={{ display: 'inline-flex', gap: 1, alignItems: 'center', flexWrap: 'wrap' }}>
      <State of="checkpoint" is={fits ? 'COMPLETED' : 'FAILED'} label={fits ? 'no obstacle found' : 'does not fit'} />
      its state, and the operators of version {String(request.spec)}
    </Box>
  );
}

function Whole({ of: { whole, files, bytes: size } }: { of: Inspection }) {
  if (!whole) return <State of="checkpoint" is="FAILED" label="damaged" />;
  return <Box component="span" sx={{ display: 'inline-flex', gap: 1, alignItems: 'center' }}><State of="checkpoint" is="COMPLETED" label="whole" />{counted(files, 'file')} read and compared, {bytes(size)}</Box>;
}

function Looking({ at }: { at: Plan }) {
  const what = isInStorage(at) ? 'reads the files of the checkpoint' : at.preview.anew ? 'looks at what would be left behind' : 'finds out whether the state of the job fits the version that is to run';
  return (
    <Box role="status" sx={{ display: 'flex', gap: 1.5, alignItems: 'center', color: 'text.secondary' }}>
      <CircularProgress size={18} thickness={5} aria-label="Being looked at" />
      A worker {what}. What it finds completes this preview; nothing is done to the job.
    </Box>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return <Box component="section" sx={{ minWidth: 0 }}><Typography variant="h3" sx={{ mb: 0.75 }}>{title}</Typography>{children}</Box>;
}

function Sources({ of }: { of: Plan }) {
  const { inspection, anew } = of.preview;
  if (anew) return <Muted>All input, from its beginning.</Muted>;
  if (!isInStorage(of)) return <Muted>Sources go on from where the job is stopped.</Muted>;
  if (inspection === null) return <Muted>Being looked at.</Muted>;
  if (!inspection.whole && inspection.sources.length === 0) return <Muted>Not known.</Muted>;
  if (inspection.sources.length === 0) return <Muted>No source had anything left to read at this checkpoint.</Muted>;
  return (
    <Box tabIndex={0} role="region" aria-label="Positions of the sources" sx={{ maxHeight: 480, overflow: 'auto' }}>
      <Table size="small">
        <TableHead><TableRow><TableCell>Source</TableCell><TableCell>Piece</TableCell><TableCell>Read again from</TableCell></TableRow></TableHead>
        <TableBody>
          {inspection.sources.flatMap(({ source, splits }) =>
            splits.map(positionOf).map(({ split, from }, at) => (
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
  const { inspection, duplicates } = of.preview;
  if (inspection === null) return <Muted>Being looked at.</Muted>;
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
                <State of="backpressure" is="low" label={records ? `readers see ${counted(records, 'record')} twice, by now` : 'readers see it twice'} />
              ) : !goesBack(of) || !revocable ? 'goes on' : 'what came after is taken back from readers; an undo brings it back'}
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

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
