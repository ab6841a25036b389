import { describe, expect, it } from 'vitest';

import { ACCURACY_BYTES, findTime } from './findTime';
import { CHUNK_BYTES } from './logWindow';
import { lineAt, START_MS, TestLog } from './testLog';

/** Return a log with one line per second, and stack traces of non-ASCII text without a time. */
const longLog = (seconds: number, trace = '  at größer.Java(3)\n'.repeat(5)): string => Array.from({ length: seconds }, (_, at) => lineAt(at) + (at % 7 === 0 ? trace : '')).join('');

const offsetOfTime = (log: TestLog, seconds: number): number => new TextEncoder().encode(new TextDecoder().decode(log.bytes).split(lineAt(seconds))[0]).length;

describe('the search for a time', () => {
  const log = new TestLog(longLog(30_000));

  it.each([0, 1, 7, 4_321, 15_000, 29_998, 29_999])('ends shortly before the line at second %d', async (seconds) => {
    const found = await findTime(log.read, log.bytes.length, START_MS + seconds * 1_000);
    const wanted = offsetOfTime(log, seconds);
    expect(found).toBeLessThanOrEqual(wanted);
    expect(wanted - found).toBeLessThan(ACCURACY_BYTES + 500);
  });

  it('reads few chunks', async () => {
    log.reads.length = 0;
    await findTime(log.read, log.bytes.length, START_MS + 12_345_000);
    expect(log.bytes.length).toBeGreaterThan(10 * CHUNK_BYTES);
    expect(log.reads.length).toBeLessThanOrEqual(Math.ceil(Math.log2(log.bytes.length / ACCURACY_BYTES)));
  });

  it('ends at the beginning for an earlier time, and near the end for a later time', async () => {
    expect(await findTime(log.read, log.bytes.length, START_MS - 1)).toBe(0);
    expect(log.bytes.length - (await findTime(log.read, log.bytes.length, START_MS + 9e9))).toBeLessThanOrEqual(ACCURACY_BYTES);
  });

  it('skips a chunk without a time', async () => {
    const gap = new TestLog(longLog(5_000) + 'print\n'.repeat(CHUNK_BYTES / 4) + lineAt(6_000) + longLog(0));
    const found = await findTime(gap.read, gap.bytes.length, START_MS + 5_500_000);
    expect(found).toBeLessThanOrEqual(offsetOfTime(gap, 6_000));
  });

  it('ends for a log without times and for an empty log', async () => {
    const plain = new TestLog('print\n'.repeat(CHUNK_BYTES));
    expect(await findTime(plain.read, plain.bytes.length, START_MS)).toBe(0);
    expect(plain.reads.length).toBeLessThan(100);
    expect(await findTime(new TestLog().read, 0, START_MS)).toBe(0);
  });
});
