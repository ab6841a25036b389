import { Box, Dialog, InputBase, ListSubheader } from '@mui/material';
import useAutocomplete from '@mui/material/useAutocomplete';
import { debounce } from '@mui/material/utils';
import { keepPreviousData } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { useGetList, useGetOne } from 'react-admin';
import { useLocation, useNavigate } from 'react-router-dom';

import { useCan } from '../../auth/permissions';
import { pluralize } from '../../format';
import { requestVerb } from '../../pages/job/requestedVerb';
import type { Job } from '../../pages/job/useJob';
import { VISUALLY_HIDDEN } from '../../shared/visuallyHidden';
import { usePages } from '../pages';
import { jobCommands, jobIdOf, jobsCommands, matchingCommands, pageCommands, type Command } from './commands';

const JOBS_MAX = 8;
/** The palette asks the API for matching jobs when the user has not typed for this time. */
const PAUSE_MS = 200;

interface Props {
  open: boolean;
  onClose: () => void;
}

/** A dialog in which the user searches commands. The selected command opens a job, a tab, a page or the dialog of a verb. */
export default function CommandPalette({ open, onClose }: Props) {
  const navigate = useNavigate();
  const [chosen, choose] = useState<Command | null>(null);
  // Run the command after the palette has closed, so that a dialog that the command opens gets the focus.
  const run = (): void => {
    choose(null);
    if (chosen === null) return;
    if ('verb' in chosen.target) requestVerb(chosen.target.verb);
    else void navigate(chosen.target.path);
  };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      aria-label="Command palette"
      fullWidth
      maxWidth="sm"
      slotProps={{ transition: { onExited: run }, container: { sx: { alignItems: 'flex-start' } }, paper: { sx: { mt: '12vh', maxHeight: '70vh' } } }}
    >
      <Search
        onClose={onClose}
        onChoose={(command) => {
          choose(command);
          onClose();
        }}
      />
    </Dialog>
  );
}

function Search({ onClose, onChoose }: { onClose: () => void; onChoose: (command: Command) => void }) {
  const [input, setInput] = useState('');
  const options = useCommands(input);
  const { getRootProps, getInputProps, getListboxProps, getOptionProps, groupedOptions: commands } = useAutocomplete<Command>({
    id: 'command-palette', open: true, value: null, inputValue: input, options, filterOptions: (all) => all, autoHighlight: true,
    getOptionLabel: ({ label }) => label, getOptionKey: ({ key }) => key, isOptionEqualToValue: (one, other) => one.key === other.key,
    onInputChange: (_, text, reason) => reason === 'input' && setInput(text),
    onChange: (_, command) => command && onChoose(command),
    onClose: (_, reason) => reason === 'escape' && onClose(),
  });
  return (
    <>
      <Box {...getRootProps()} sx={{ px: 2, py: 1, borderBottom: 1, borderColor: 'divider' }}>
        <InputBase
          fullWidth
          // eslint-disable-next-line jsx-a11y/no-autofocus -- the user opened the dialog to type in this field
          autoFocus
          placeholder="Go to a job or page, or run an action"
          inputProps={{ ...getInputProps(), 'aria-label': 'Search commands' }}
        />
      </Box>
      <Box role="status" sx={VISUALLY_HIDDEN}>{commands.length > 0 ? pluralize(commands.length, 'result') : 'No results'}</Box>
      {commands.length === 0 && <Box sx={{ p: 2, color: 'text.secondary' }}>No job, page or action matches this text.</Box>}
      <Box component="ul" {...getListboxProps()} aria-label="Commands" sx={{ m: 0, p: 0, pb: 1, overflow: 'auto', listStyle: 'none' }}>
        {commands.map((command, index) => {
          const { key, ...props } = getOptionProps({ option: command, index });
          return [
            commands[index - 1]?.group !== command.group && <ListSubheader key={command.group} role="presentation" disableSticky sx={{ lineHeight: '30px' }}>{command.group}</ListSubheader>,
            <Box key={key} component="li" {...props} sx={{ px: 2, py: 0.75, cursor: 'pointer', overflowWrap: 'anywhere', '&.Mui-focused': { backgroundColor: 'action.selected' } }}>{command.label}</Box>,
          ];
        })}
      </Box>
    </>
  );
}

/** Return the commands that match the text. The API searches the jobs. */
function useCommands(input: string): Command[] {
  const { pathname } = useLocation();
  const { main, secondary } = usePages();
  const mayOperate = useCan('operate');
  const [searched, setSearched] = useState('');
  const search = useMemo(() => debounce(setSearched, PAUSE_MS), []);
  useEffect(() => search.clear, [search]);
  useEffect(() => search(input.trim()), [search, input]);
  const jobId = jobIdOf(pathname);
  const { data: job } = useGetOne<Job>('jobs', { id: jobId ?? 0 }, { enabled: jobId !== null });
  const { data: jobs = [] } = useGetList<Job>(
    'jobs',
    { filter: searched === '' ? {} : { q: searched }, sort: { field: 'name', order: 'ASC' }, pagination: { page: 1, perPage: JOBS_MAX } },
    { placeholderData: keepPreviousData },
  );
  const fixed = [...(jobId !== null && job ? jobCommands(job, mayOperate) : []), ...pageCommands([...main, ...secondary])];
  return matchingCommands([...fixed, ...jobsCommands(jobs)], input);
}
