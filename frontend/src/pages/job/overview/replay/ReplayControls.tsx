import CloseIcon from '@mui/icons-material/Close';
import PauseIcon from '@mui/icons-material/Pause';
import PlayIcon from '@mui/icons-material/PlayArrow';
import { Box, Button, IconButton, MenuItem, Slider, TextField } from '@mui/material';

import { duration } from '../../../../format';
import { useStore } from '../../../../live/store';
import { useFocusHandoff } from '../../../../shared/useFocusHandoff';
import { SLOWDOWNS, type Slowdown } from './playback';
import type { ReplayStore } from '../wavefront/wavefrontSource';

/** The number of steps of the time slider. */
const SLIDER_STEPS = 200;

export function ReplayControls({ store, onExit }: { store: ReplayStore; onExit: () => void }) {
  const { durationMs, positionMs, playing, slowdown } = useStore(store, ({ playback }) => playback);
  const ref = useFocusHandoff();
  return (
    <Box ref={ref} role="group" aria-label="Replay" sx={{ display: 'flex', alignItems: 'center', gap: 1.5, px: 2, py: 0.75, borderTop: 1, borderColor: 'divider' }}>
      <IconButton size="small" aria-label={playing ? 'Pause' : 'Play'} onClick={() => store.dispatch({ type: playing ? 'pause' : 'play' })}>
        {playing ? <PauseIcon fontSize="small" /> : <PlayIcon fontSize="small" />}
      </IconButton>
      <Slider
        size="small"
        aria-label="Time since trigger"
        min={0}
        max={durationMs}
        step={durationMs / SLIDER_STEPS}
        value={positionMs}
        getAriaValueText={(ms) => `${duration(ms)} after the trigger`}
        onChange={(_, toMs) => {
          store.dispatch({ type: 'pause' });
          store.dispatch({ type: 'seek', toMs });
        }}
        sx={{ flex: 1, minWidth: 120, mx: 1, '& .MuiSlider-thumb, & .MuiSlider-track': { transition: 'none' } }}
      />
      <Box sx={{ minWidth: 130, textAlign: 'right', whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>{duration(positionMs)} of {duration(durationMs)}</Box>
      <TextField
        select
        label="Speed"
        value={slowdown}
        onChange={({ target }) => store.dispatch({ type: 'slowdown', slowdown: Number(target.value) as Slowdown })}
        sx={{ width: 130 }}
      >
        {SLOWDOWNS.map((value) => <MenuItem key={value} value={value}>{value === 1 ? 'real time' : `${value}× slower`}</MenuItem>)}
      </TextField>
      <Button size="small" startIcon={<CloseIcon />} onClick={onExit}>Back to live view</Button>
    </Box>
  );
}
