/** The part of a driver's log that is loaded in the browser. A chunk of the log can begin and end inside a line. Pure. */
import { parseLine, type LogLine } from './logLine';

/** The maximum size of a chunk (CHUNK_BYTES in backend/weir_backend/runs/driver_log.py). */
export const CHUNK_BYTES = 256 * 1024;
export const LINES_MAX = 20_000;
export const BYTES_MAX = 32 * 1024 * 1024;
const NEWLINE = 10;

/** A part of the log. `begin` and `end` are offsets in bytes, and `size` is the size of the whole log at the time of the response. */
export interface LogChunk {
  data: Uint8Array<ArrayBuffer>;
  begin: number;
  end: number;
  size: number;
}

export interface LogWindow {
  /** The offset of the first line. */
  begin: number;
  /** The offset after the last loaded byte. */
  end: number;
  size: number;
  lines: readonly LogLine[];
  /** The loaded bytes of the incomplete line at the end of the window. */
  rest: Uint8Array;
}

const NO_BYTES = new Uint8Array();
const decoder = new TextDecoder();
const decode = (bytes: Uint8Array): string => decoder.decode(bytes).replace(/\r$/, '');

/**
 * Split bytes into lines. `offset` is the offset of the first byte. Only complete lines are decoded, so a chunk that ends inside a UTF-8 character
 * loses nothing.
 */
export function splitLines(bytes: Uint8Array, offset: number): { lines: LogLine[]; rest: Uint8Array } {
  const lines: LogLine[] = [];
  let from = 0;
  for (let to = bytes.indexOf(NEWLINE); to !== -1; to = bytes.indexOf(NEWLINE, from)) {
    lines.push(parseLine(decode(bytes.subarray(from, to)), offset + from));
    from = to + 1;
  }
  return { lines, rest: bytes.slice(from) };
}

/** Return a window with the lines of one chunk. The window does not contain the line in which the chunk begins. */
export function openWindow(chunk: LogChunk): LogWindow {
  const from = partialLineBytes(chunk.data, chunk.begin);
  return append({ begin: chunk.begin + from, end: chunk.begin + from, size: chunk.size, lines: [], rest: NO_BYTES }, { ...chunk, data: chunk.data.subarray(from) });
}

/** Add the chunk that begins at the end of the window. If the window becomes too large, remove its oldest lines. */
export function append(window: LogWindow, { data, end, size }: LogChunk): LogWindow {
  const bytes = new Uint8Array(window.rest.length + data.length);
  bytes.set(window.rest);
  bytes.set(data, window.rest.length);
  const offset = window.end - window.rest.length;
  const split = splitLines(bytes, offset);
  // A line that is longer than a chunk is cut, so that its memory is bounded.
  const isCut = split.rest.length >= CHUNK_BYTES;
  const cut = isCut ? [parseLine(decode(split.rest), end - split.rest.length)] : [];
  const lines = [...window.lines, ...split.lines, ...cut];
  let first = Math.max(0, lines.length - LINES_MAX);
  while (first < lines.length - 1 && end - lines[first]!.offset > BYTES_MAX) first += 1;
  return { begin: first > 0 ? lines[first]!.offset : window.begin, end, size, lines: first > 0 ? lines.slice(first) : lines, rest: isCut ? NO_BYTES : split.rest };
}

/** Add the bytes before the window. `data` ends at the beginning of the window. If the window becomes too large, remove its newest lines. */
export function prepend(window: LogWindow, data: Uint8Array): LogWindow {
  const begin = window.begin - data.length;
  const partial = partialLineBytes(data, begin);
  // A line that is longer than a chunk is cut, because the window would otherwise not grow.
  const from = partial === data.length ? 0 : partial;
  const split = splitLines(data.subarray(from), begin + from);
  const cut = split.rest.length > 0 ? [parseLine(decode(split.rest), window.begin - split.rest.length)] : [];
  const lines = [...split.lines, ...cut, ...window.lines];
  let count = Math.min(lines.length, LINES_MAX);
  while (count > 1 && lines[count - 1]!.offset - begin > BYTES_MAX) count -= 1;
  if (count === lines.length) return { ...window, begin: begin + from, lines };
  return { ...window, begin: begin + from, end: lines[count]!.offset, lines: lines.slice(0, count), rest: NO_BYTES };
}

/** Return the number of bytes of the incomplete line at the beginning of a chunk. */
function partialLineBytes(data: Uint8Array, begin: number): number {
  if (begin === 0) return 0;
  const newline = data.indexOf(NEWLINE);
  return newline === -1 ? 0 : newline + 1;
}

/** Return the lines of the window, including an incomplete line at the end of the log. */
export function linesOf({ lines, rest, end, size }: LogWindow): readonly LogLine[] {
  return rest.length > 0 && end >= size ? [...lines, parseLine(decode(rest), end - rest.length)] : lines;
}
