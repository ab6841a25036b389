import CloseIcon from '@mui/icons-material/Close';
import PauseIcon from '@mui/icons-material/Pause';
import PlayIcon from '@mui/icons-material/PlayArrow';
import { Box, Button, IconButton, MenuItem, Slider, TextField } from '@mui/material';

import { duration } from '../../../format';
import { useStore } from '../../../live/store';
import { useHandOver } from '../../../shared/useHandOver';
import { SLOWDOWNS, type Slowdown } from './player';
import type { ReplayStore } from './waveSource';

/** A slider moves by so many steps from end to end. */
const SLIDER_STEPS = 200;

export function ReplayControls({ store, onLeave }: { store: ReplayStore; onLeave: () => void }) {
  const { durationMs, positionMs, playing, slowdown } = useStore(store, ({ player }) => player);
  const ref = useHandOver();
  return (
    <Box ref={ref} role="group" aria-label="Replay" sx={{ display: 'flex', alignItems: 'center', gap: 1.5, px: 2, py: 0.75, borderTop: 1, borderColor: 'divider' }}>
      <IconButton size="small" aria-label={playing ? 'Pause' : 'Play'} onClick={() => store.tell({ type: playing ? 'pause' : 'play' })}>
        {playing ? <PauseIcon fontSize="small" /> : <PlayIcon fontSize="small" />}
      </IconButton>
      <Slider
        size="small"
        aria-label="Moment of the checkpoint"
        min={0}
        max={durationMs}
        step={durationMs / SLIDER_STEPS}
        value={positionMs}
        getAriaValueText={(ms) => `${duration(ms)} after the trigger`}
        onChange={(_, toMs) => {
          store.tell({ type: 'pause' });
          store.tell({ type: 'seek', toMs });
        }}
        sx={{ flex: 1, minWidth: 120, mx: 1, '& .MuiSlider-thumb, & .MuiSlider-track': { transition: 'none' } }}
      />
      <Box sx={{ minWidth: 130, textAlign: 'right', whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>{duration(positionMs)} of {duration(durationMs)}</Box>
      <TextField
        select
        label="Speed"
        value={slowdown}
        onChange={({ target }) => store.tell({ type: 'slowdown', slowdown: Number(target.value) as Slowdown })}
        sx={{ width: 130 }}
      >
        {SLOWDOWNS.map((one) => <MenuItem key={one} value={one}>{one === 1 ? 'as it was' : `${one}× slower`}</MenuItem>)}
      </TextField>
      <Button size="small" startIcon={<CloseIcon />} onClick={onLeave}>Back to live</Button>
    </Box>
  );
}
