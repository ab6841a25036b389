import { Button, Tooltip, type ButtonProps } from '@mui/material';
import { useId } from 'react';

interface Props extends Pick<ButtonProps, 'color' | 'variant'> {
  label: string;
  /** A label with more context for screen readers, such as `Undo plan 7`. */
  ariaLabel?: string;
  /** The id of the element that describes the action. */
  describedBy?: string;
  /** The reason why the action is not possible now. Null if the action is possible. */
  disabledReason: string | null;
  onClick: () => void;
}

const ENABLED = { whiteSpace: 'nowrap' } as const;
const DISABLED = { ...ENABLED, opacity: 0.75, cursor: 'not-allowed', borderStyle: 'dashed', color: 'text.secondary' } as const;
/** Hide the tooltip without a transition, because its text has already been removed. */
const NO_EXIT_TRANSITION = { transition: { timeout: { enter: 200, exit: 0 } } };

/**
 * A button that explains why it is disabled. A disabled button stays focusable, so that keyboard users can read the reason and keep the focus while
 * a request is in progress.
 */
export function ActionButton({ label, ariaLabel, describedBy, disabledReason, onClick, color = 'primary', variant = 'outlined' }: Props) {
  const reason = useId();
  const enabled = disabledReason === null;
  return (
    <>
      <Tooltip title={disabledReason ?? ''} describeChild slotProps={NO_EXIT_TRANSITION}>
        <Button
          size="small"
          variant={variant}
          color={enabled ? color : 'inherit'}
          aria-label={ariaLabel}
          aria-disabled={enabled ? undefined : true}
          aria-describedby={enabled ? describedBy : reason}
          disableRipple={!enabled}
          onClick={enabled ? onClick : undefined}
          sx={enabled ? ENABLED : DISABLED}
        >
          {label}
        </Button>
      </Tooltip>
      {!enabled && <span id={reason} hidden>{disabledReason}</span>}
    </>
  );
}
