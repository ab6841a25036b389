import { Box, Button, type SxProps, type Theme } from '@mui/material';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

import { EmptyState } from '../../../shared/DataStates';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { coloursOf } from '../../../theme/states';
import { MONO } from '../../../theme/theme';
import { LEVELS, type LogLine } from './logLine';
import { LogRow } from './LogRow';
import { firstRow, ROWS_MAX } from './visibleRows';

/** The distance from the end of the list at which the end counts as visible, in pixels. */
const END_PX = 24;
/** The distance from the beginning of the list at which earlier lines are loaded. */
const EARLIER_PX = 200;
/** The distance between the top of the list and the line that the list shows first. */
const MARKED_PX = 80;

interface Props {
  lines: readonly LogLine[];
  pattern: RegExp | null;
  /** The offset of the marked line, or null. */
  marked: number | null;
  /** Whether the list scrolls to new lines. */
  follow: boolean;
  onFollow: (follow: boolean) => void;
  /** Functions that load more lines. Undefined if the beginning or the end of the log is loaded. */
  onEarlier: (() => void) | undefined;
  onLater: (() => void) | undefined;
  /** Removes the filters. Undefined if no lines are hidden. */
  onClearFilters: (() => void) | undefined;
}

/** The lines of a log. Renders only the lines near the visible part. The visible lines stay in place when lines are added or removed above them. */
export function LogList({ lines, pattern, marked, follow, onFollow, onEarlier, onLater, onClearFilters }: Props) {
  const box = useRef<HTMLDivElement>(null);
  /** The line at the top of the visible part: its offset in the log, and its distance from the top of the list in pixels. */
  const [top, setTop] = useState(marked);
  const topPx = useRef(MARKED_PX);
  const scrolledTo = useRef(0);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  // After the user has resumed following, an earlier position no longer counts.
  if (follow && top !== null) setTop(null);
  const buttonRef = useFocusHandoff(() => box.current);
  const first = firstRow(lines, follow ? null : top);
  const rows = lines.slice(first, first + ROWS_MAX);

  const readPosition = useCallback((): void => {
    const shown = rowsOf(box.current!);
    const row = shown.find((one) => one.offsetTop + one.offsetHeight > box.current!.scrollTop) ?? shown[0];
    if (!row) return;
    topPx.current = row.offsetTop - box.current!.scrollTop;
    setTop(offsetOf(row));
  }, []);

  const onScroll = (): void => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    const [up, down] = [scrollTop < scrolledTo.current, scrollTop > scrolledTo.current];
    const atEnd = scrollHeight - scrollTop - clientHeight < END_PX;
    scrolledTo.current = scrollTop;
    if (follow && (!up || atEnd)) return;
    readPosition();
    if (follow) onFollow(false);
    if (up && scrollTop < EARLIER_PX && first === 0) onEarlier?.();
    if (down && atEnd && first + rows.length === lines.length) (onLater ?? (() => onFollow(true)))();
  };

  const firstOffset = rows[0]?.offset;
  const lastOffset = rows.at(-1)?.offset;
  useLayoutEffect(() => {
    const list = box.current!;
    const row = follow || top === null ? undefined : rowsOf(list).find((one) => offsetOf(one) >= top);
    list.scrollTop = row ? row.offsetTop - topPx.current : list.scrollHeight;
    scrolledTo.current = list.scrollTop;
    // A change of `top` alone is the result of scrolling.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [follow, firstOffset, lastOffset, rows.length]);

  const pause = useCallback((): void => {
    readPosition();
    onFollow(false);
  }, [readPosition, onFollow]);
  const toggle = useCallback(
    (offset: number): void => {
      // Without a pause, the next line would scroll the expanded line away.
      pause();
      setOpen((before) => new Set(before.has(offset) ? [...before].filter((one) => one !== offset) : [...before, offset]));
    },
    [pause],
  );
  const clearFilters = useRef(onClearFilters);
  useEffect(() => {
    clearFilters.current = onClearFilters;
  });
  // A stable function, so that scrolling does not render all lines again.
  const showContext = useCallback((offset: number): void => {
    topPx.current = MARKED_PX;
    setTop(offset);
    clearFilters.current?.();
  }, []);

  return (
    // The list is focusable, so that users can scroll it with the keyboard. Screen readers do not announce new lines, because there can be many.
    <Box ref={box} role="log" aria-live="off" aria-label="Lines of the log" tabIndex={0} onScroll={onScroll} sx={STYLES}>
      {onEarlier && <Button ref={buttonRef} size="small" onClick={() => { pause(); onEarlier(); }}>Load earlier lines</Button>}
      {rows.map((line) => (
        <LogRow key={line.offset} line={line} pattern={pattern} marked={line.offset === marked} open={open.has(line.offset)} onToggle={toggle} onShowContext={onClearFilters && showContext} />
      ))}
      {rows.length === 0 && <EmptyState title="No matching lines">The loaded part of the log contains no matching lines.</EmptyState>}
      {onLater && !follow && <Button ref={buttonRef} size="small" onClick={onLater}>Load later lines</Button>}
    </Box>
  );
}

const rowsOf = (list: HTMLElement): HTMLElement[] => [...list.querySelectorAll<HTMLElement>('[data-offset]')];
const offsetOf = (row: HTMLElement): number => Number(row.dataset.offset);

const STYLES: SxProps<Theme> = {
  height: 'max(260px, calc(100vh - 340px))', overflowY: 'auto', overflowX: 'hidden', position: 'relative', overflowAnchor: 'none', borderTop: 1, borderColor: 'divider',
  fontFamily: MONO, fontSize: '0.76rem', lineHeight: 1.5,
  // The focus outline is inside the list, because the panel would clip an outline outside the list.
  '&:focus-visible': { outlineOffset: '-2px' },
  '& .line': { display: 'grid', gridTemplateColumns: '24px max-content 8ch minmax(0, 1fr)', columnGap: '8px', px: '8px', alignItems: 'start', borderLeft: '3px solid transparent' },
  '& .line:hover': { backgroundColor: 'action.hover' },
  '& time, & .fields': { color: 'text.secondary' },
  '& .text': { whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', minWidth: 0 },
  '& .line > *': { py: '3px' },
  '& .plain': { gridColumn: '2 / -1' },
  '& .line > .plain': { py: 0 },
  // WCAG requires targets of 24 px.
  '& .line > .open': { display: 'flex', p: '5px', border: 0, borderRadius: '50%', background: 'none', color: 'action.active', fill: 'currentColor', cursor: 'pointer' },
  '& .open:hover': { backgroundColor: 'action.hover' },
  '& .details': { gridColumn: '2 / -1', py: '6px', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', minWidth: 0 },
  '& .exception': { mt: '6px' },
  ...Object.fromEntries(LEVELS.map((level) => [`& .line.${level} .level`, { color: ({ palette }: Theme) => coloursOf('log', level, palette.mode).ink }])),
  '& .line.warning': { borderLeftColor: ({ palette }) => coloursOf('log', 'warning', palette.mode).ink },
  '& .line.error, & .line.critical': { borderLeftColor: ({ palette }) => coloursOf('log', 'error', palette.mode).ink },
  '& .line.marked': { backgroundColor: 'action.selected', borderLeftColor: 'primary.main' },
};
