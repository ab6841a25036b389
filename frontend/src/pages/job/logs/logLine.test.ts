import { describe, expect, it } from 'vitest';

import { fieldsText, filterLines, firstLineAt, parseLine, searchPattern } from './logLine';

const AT = '2026-11-22T04:00:01.250000Z';
const line = (fields: Record<string, unknown>, offset = 0) => parseLine(JSON.stringify(fields), offset);

describe('a line of the log', () => {
  it('with JSON has a time, a level, a message and fields', () => {
    expect(line({ slot: 2, reason: 'exit code 1', event: 'slot lost', level: 'warning', timestamp: AT }, 70)).toMatchObject({
      offset: 70, atMs: Date.parse(AT), level: 'warning', event: 'slot lost', fields: [['slot', 2], ['reason', 'exit code 1']], exception: null,
    });
  });

  it.each(['Traceback (most recent call last):', '{"key": "JSON without a message"}', '{broken', '', '[1]', '{}'])('such as %j is plain text', (text) => {
    expect(parseLine(text, 0)).toMatchObject({ text, atMs: null, level: null, event: null, fields: [] });
  });

  it('of Spark has a level, but no time, because its time has no time zone', () => {
    expect(parseLine('26/11/22 04:00:04 WARN TaskSetManager: Lost task 0.0', 0)).toMatchObject({ atMs: null, level: 'warning', event: null });
  });

  it('shows its fields as text, followed by the last line of the stack trace', () => {
    expect(fieldsText(line({ event: 'x', slot: 2, reason: 'exit code 1', nested: { a: [1] }, none: null, exception: 'Traceback:\n  a\nValueError: no\n' }))).toBe(
      'slot=2 reason="exit code 1" nested={"a":[1]} none=null ValueError: no',
    );
  });

  it('can have an invalid time, an unknown level and a message that is not text', () => {
    expect(line({ event: 7, level: 'loud', timestamp: 'yesterday' })).toMatchObject({ event: '7', level: null, atMs: null });
  });
});

describe('filters', () => {
  const lines = [
    line({ event: 'connected', level: 'debug' }, 0), line({ event: 'started', level: 'info', host: 'Worker-3' }, 1), line({ event: 'slow', level: 'warning' }, 2),
    line({ event: 'failed', level: 'error', exception: 'Traceback:\nKeyError: 1' }, 3), parseLine('  at Foo.java (3)', 4),
  ];
  const offsets = (level: Parameters<typeof filterLines>[1], text = ''): number[] => filterLines(lines, level, searchPattern(text)).map(({ offset }) => offset);

  it('match lines from a level upwards, and all lines without a level', () => {
    expect([offsets('debug'), offsets('info'), offsets('warning'), offsets('error')]).toEqual([[0, 1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4]]);
  });

  it('match text in messages, fields, stack traces and plain lines without regard to case', () => {
    expect([offsets('debug', 'START'), offsets('debug', 'host=worker'), offsets('debug', 'traceback'), offsets('debug', 'foo.JAVA (')]).toEqual([[1], [1], [3], [4]]);
    expect(offsets('info', 'connected')).toEqual([]);
  });

  it('treat the search text as text and not as a pattern', () => {
    expect([offsets('debug', '.*'), offsets('debug', '(3)')]).toEqual([[], [4]]);
  });
});

it('the first line at or after a time is found among lines without a time', () => {
  const lines = [parseLine('plain', 0), line({ event: 'a', timestamp: '2026-11-22T04:00:00Z' }, 1), parseLine('plain', 2), line({ event: 'b', timestamp: '2026-11-22T04:00:02Z' }, 3)];
  expect([-1, 0, 1, 2, 3].map((s) => firstLineAt(lines, Date.parse('2026-11-22T04:00:00Z') + s * 1_000)?.offset)).toEqual([1, 1, 3, 3, undefined]);
});
