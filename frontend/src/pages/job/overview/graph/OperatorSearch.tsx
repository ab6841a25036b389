import { Autocomplete, createFilterOptions, TextField, Typography } from '@mui/material';
import { useMemo } from 'react';

import { operatorSubtitle, type Operator, type PhysicalGraph } from '../../physicalGraph';

interface Option {
  operator: Operator;
  /** The index of the operator's chain. */
  chain: number;
}

const filterOptions = createFilterOptions<Option>({ limit: 50, stringify: ({ operator: { uid, name, kind } }) => `${uid} ${name} ${kind}` });

/** Finds an operator by its uid, name or kind. The list of operators is rendered inside the graph. A list outside the graph (a React portal) would be invisible in full screen. */
export function OperatorSearch({ graph, onFind }: { graph: PhysicalGraph; onFind: (chain: number) => void }) {
  const options = useMemo(() => graph.chains.flatMap(({ index, operators }) => operators.map((operator): Option => ({ operator, chain: index }))), [graph]);
  return (
    <Autocomplete
      size="small"
      disablePortal
      autoHighlight
      blurOnSelect
      options={options}
      value={null}
      getOptionLabel={({ operator: { uid } }) => uid}
      getOptionKey={({ operator: { uid } }) => uid}
      filterOptions={filterOptions}
      onChange={(_, option) => option && onFind(option.chain)}
      noOptionsText="No operator matches"
      sx={{ width: 200, backgroundColor: 'background.paper' }}
      slotProps={{ popper: { placement: 'top-start' }, listbox: { sx: { maxHeight: 200 } } }}
      renderOption={({ key, ...props }, { operator }) => (
        <li key={key} {...props}>
          <span style={{ minWidth: 0 }}>
            <Typography component="span" sx={{ display: 'block', fontSize: '0.85rem', overflowWrap: 'anywhere' }}>{operator.uid}</Typography>
            <Typography component="span" color="text.secondary" sx={{ display: 'block', fontSize: '0.75rem' }}>{operatorSubtitle(operator)}</Typography>
          </span>
        </li>
      )}
      renderInput={(props) => <TextField {...props} label="Find operator" />}
    />
  );
}
