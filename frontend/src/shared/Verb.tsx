import { Button, Tooltip, type ButtonProps } from '@mui/material';
import { useId } from 'react';

interface Props extends Pick<ButtonProps, 'color' | 'variant'> {
  label: string;
  /** For who hears the label without what stands around it: `Undo plan 7`. */
  name?: string;
  /** The id of what says more about it. */
  describedBy?: string;
  /** Why it cannot be done now; null: it can. Shown, and read out, in its place. */
  why: string | null;
  onClick: () => void;
}

/** A button that says why it does nothing. It stays reachable by keyboard: who cannot press it may still ask why. */
export function Verb({ label, name, describedBy, why, onClick, color = 'primary', variant = 'outlined' }: Props) {
  const reason = useId();
  const shared = { size: 'small', variant, 'aria-label': name } as const;
  if (why === null) return <Button {...shared} color={color} aria-describedby={describedBy} onClick={onClick} sx={{ whiteSpace: 'nowrap' }}>{label}</Button>;
  return (
    <>
      <Tooltip title={why} describeChild>
        <Button {...shared} color="inherit" aria-disabled aria-describedby={reason} disableRipple sx={{ opacity: 0.75, cursor: 'not-allowed', borderStyle: 'dashed', color: 'text.secondary', whiteSpace: 'nowrap' }}>
          {label}
        </Button>
      </Tooltip>
      <span id={reason} hidden>{why}</span>
    </>
  );
}
