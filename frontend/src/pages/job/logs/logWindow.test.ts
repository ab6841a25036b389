import { describe, expect, it } from 'vitest';

import { append, BYTES_MAX, CHUNK_BYTES, LINES_MAX, linesOf, openWindow, prepend, splitLines, type LogWindow } from './logWindow';
import { TestLog } from './testLog';

const texts = (window: LogWindow): string[] => linesOf(window).map(({ text }) => text);
const TEXT = 'zwölf Boxkämpfer\njagen 😀 Viktor\r\n\nquer über den großen\nSylter Deich\n';
const LINES = ['zwölf Boxkämpfer', 'jagen 😀 Viktor', '', 'quer über den großen', 'Sylter Deich'];

describe('a window of the log', () => {
  it.each([1, 2, 3, 5, 7, 64])('contains all lines if the log is read forwards in chunks of %d bytes', (chunkBytes) => {
    const log = new TestLog(TEXT, chunkBytes);
    let window = openWindow(log.chunk(0));
    while (window.end < window.size) window = append(window, log.chunk(window.end));
    expect(texts(window)).toEqual(LINES);
    expect(window.lines.map(({ offset }) => offset)).toEqual(splitLines(log.bytes, 0).lines.map(({ offset }) => offset));
  });

  it.each([30, 40, 64])('contains all lines if the log is read backwards in chunks of %d bytes', (chunkBytes) => {
    const log = new TestLog(TEXT, chunkBytes);
    let window = openWindow(log.chunk(-chunkBytes));
    expect(window.end).toBe(window.size);
    while (window.begin > 0) window = prepend(window, log.bytes.slice(Math.max(0, window.begin - chunkBytes), window.begin));
    expect(texts(window)).toEqual(LINES);
    expect(window.begin).toBe(0);
  });

  it('begins with a complete line', () => {
    const window = openWindow(new TestLog('first\nsecond\nthird\n').chunk(-9));
    expect(texts(window)).toEqual(['third']);
    expect(window.begin).toBe(13);
  });

  it('shows an incomplete line only at the end of the log', () => {
    const log = new TestLog('one\ntwo', 6);
    let window = openWindow(log.chunk(0));
    expect(texts(window)).toEqual(['one']);
    window = append(window, log.chunk(window.end));
    expect(texts(window)).toEqual(['one', 'two']);
    log.write(' and a half\n');
    window = append(window, log.chunk(window.end));
    expect(texts(append(window, log.chunk(window.end)))).toEqual(['one', 'two and a half']);
  });

  it('removes its oldest lines if new lines make it too large', () => {
    const log = new TestLog(`${'x\n'.repeat(LINES_MAX)}last\n`);
    const window = openWindow(log.chunk(0));
    expect([window.lines.length, window.begin, window.lines.at(-1)!.text]).toEqual([LINES_MAX, 2, 'last']);
  });

  it('removes its newest lines if earlier lines make it too large', () => {
    const log = new TestLog(`first\n${'x\n'.repeat(LINES_MAX)}`);
    const window = prepend(openWindow({ ...log.chunk(-4), size: log.bytes.length }), log.bytes.slice(0, -2));
    expect([window.lines.length, window.begin, window.lines[0]!.text]).toEqual([LINES_MAX, 0, 'first']);
    expect(window.end).toBe(window.lines.at(-1)!.offset + 2);
    expect(texts(append(window, log.chunk(window.end)))).toHaveLength(LINES_MAX);
  });

  it('cuts lines that are longer than a chunk, so that its memory is bounded', () => {
    const log = new TestLog(`short\n${'x'.repeat(3 * CHUNK_BYTES)}\nend\n`);
    let forwards = openWindow(log.chunk(0));
    while (forwards.end < forwards.size) forwards = append(forwards, log.chunk(forwards.end));
    let backwards = openWindow(log.chunk(-CHUNK_BYTES));
    while (backwards.begin > 0) backwards = prepend(backwards, log.bytes.slice(Math.max(0, backwards.begin - CHUNK_BYTES), backwards.begin));
    for (const window of [forwards, backwards]) {
      expect(texts(window).join('')).toBe(`short${'x'.repeat(3 * CHUNK_BYTES)}end`);
      expect(window.lines.length).toBeGreaterThan(4);
    }
  });

  it('has at most a fixed number of bytes', () => {
    const log = new TestLog(`${'x'.repeat(CHUNK_BYTES - 1)}\n`.repeat(BYTES_MAX / CHUNK_BYTES + 2));
    let window = openWindow(log.chunk(0));
    while (window.end < window.size) window = append(window, log.chunk(window.end));
    expect(window.end - window.begin).toBeLessThanOrEqual(BYTES_MAX);
  });
});
