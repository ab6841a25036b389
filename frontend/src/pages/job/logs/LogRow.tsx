import { Button } from '@mui/material';
import { memo, useRef, type RefObject } from 'react';

import { serverNow } from '../../../api/serverClock';
import { absolute, clockWithMs, NO_VALUE } from '../../../format';
import { DescriptionList } from '../../../shared/DescriptionList';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { fieldsText, fieldText, type LogLine } from './logLine';

/** Longer texts are truncated until the user expands the line. */
const TEXT_MAX = 2_000;
const LABEL_MAX = 60;

interface Props {
  line: LogLine;
  pattern: RegExp | null;
  /** Whether the line is the first line at or after the searched time. */
  marked: boolean;
  open: boolean;
  onToggle: (offset: number) => void;
  /** Shows the lines around this line. Undefined if no lines are hidden. */
  onShowContext: ((offset: number) => void) | undefined;
}

export const LogRow = memo(function LogRow({ line, pattern, marked, open, onToggle, onShowContext }: Props) {
  const toggle = useRef<HTMLButtonElement>(null);
  const { offset, atMs, level, event, text } = line;
  const fields = event === null ? '' : fieldsText(line);
  const message = event ?? text;
  const isExpandable = event !== null || text.length > TEXT_MAX || onShowContext !== undefined;
  const time = atMs === null ? null : clockWithMs(atMs, serverNow());
  return (
    <div className={`line ${level ?? ''} ${marked ? 'marked' : ''}`} data-offset={offset} aria-current={marked ? 'true' : undefined}>
      {isExpandable ? (
        <button ref={toggle} type="button" className="open" aria-expanded={open} aria-label={`Details: ${time ?? ''} ${message.slice(0, LABEL_MAX)}`} onClick={() => onToggle(offset)}>
          <svg viewBox="0 0 24 24" width={14} height={14} aria-hidden><path d={open ? DOWN : RIGHT} /></svg>
        </button>
      ) : <span />}
      {event !== null && (
        <>
          {atMs === null ? <span>{NO_VALUE}</span> : <time dateTime={new Date(atMs).toISOString()}>{time}</time>}
          <span className="level">{level ?? NO_VALUE}</span>
        </>
      )}
      <div className={event === null ? 'text plain' : 'text'}>
        <Highlighted text={shorten(message)} pattern={pattern} />
        {fields && <>{' '}<span className="fields"><Highlighted text={shorten(fields)} pattern={pattern} /></span></>}
      </div>
      {open && <Details line={line} toggle={toggle} onShowContext={onShowContext} />}
    </div>
  );
});

function Details({ line: { offset, atMs, text, event, fields, exception }, toggle, onShowContext }: Pick<Props, 'line' | 'onShowContext'> & { toggle: RefObject<HTMLButtonElement | null> }) {
  // The button to show surrounding lines disappears when the user presses it.
  const ref = useFocusHandoff(() => toggle.current);
  return (
    <div className="details">
      {event === null ? text.length > TEXT_MAX && <div>{text}</div> : <DescriptionList items={[['time', absolute(atMs)], ['event', event], ...fields.map(([name, value]) => [name, fieldText(value)] as const)]} />}
      {exception && <div className="exception">{exception}</div>}
      {onShowContext && <Button ref={ref} size="small" onClick={() => onShowContext(offset)}>Show surrounding lines</Button>}
    </div>
  );
}

/** A text in which the matches of the search are highlighted. */
function Highlighted({ text, pattern }: { text: string; pattern: RegExp | null }) {
  if (pattern === null) return <>{text}</>;
  // The parts at odd positions are the matches.
  return <>{text.split(new RegExp(`(${pattern.source})`, pattern.flags)).map((part, place) => (place % 2 === 1 ? <mark key={place}>{part}</mark> : part))}</>;
}

const shorten = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text);

const RIGHT = 'M10 6 8.59 7.41 13.17 12l-4.58 4.59L10 18l6-6z';
const DOWN = 'M16.59 8.59 12 13.17 7.41 8.59 6 10l6 6 6-6z';
