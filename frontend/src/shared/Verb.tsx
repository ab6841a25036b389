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

const CAN = { whiteSpace: 'nowrap' } as const;
const CANNOT = { ...CAN, opacity: 0.75, cursor: 'not-allowed', borderStyle: 'dashed', color: 'text.secondary' } as const;
/** A reason that is gone is not seen to fade: its words are gone before it. */
const AT_ONCE = { transition: { timeout: { enter: 200, exit: 0 } } };

/**
 * A button that says why it does nothing. It stays reachable by keyboard: who cannot press it may still ask why. It is the same element all the
 * time: what was pressed keeps the keyboard while that is done.
 */
export function Verb({ label, name, describedBy, why, onClick, color = 'primary', variant = 'outlined' }: Props) {
  const reason = useId();
  const can = why === null;
  return (
    <>
      <Tooltip title={why ?? ''} describeChild slotProps={AT_ONCE}>
        <Button
          size="small"
          variant={variant}
          color={can ? color : 'inherit'}
          aria-label={name}
          aria-disabled={can ? undefined : true}
          aria-describedby={can ? describedBy : reason}
          disableRipple={!can}
          onClick={can ? onClick : undefined}
          sx={can ? CAN : CANNOT}
        >
          {label}
        </Button>
      </Tooltip>
      {!can && <span id={reason} hidden>{why}</span>}
    </>
  );
}
