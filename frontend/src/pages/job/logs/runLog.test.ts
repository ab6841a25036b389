import { describe, expect, it } from 'vitest';

import { UNREACHABLE } from '../../../api/problem';
import { firstLineAt } from './logLine';
import { CHUNK_BYTES, linesOf } from './logWindow';
import { downloadLog, RunLog } from './runLog';
import { lineAt, START_MS, TestLog } from './testLog';

const lines = (from: number, to: number): string => Array.from({ length: to - from }, (_, at) => lineAt(from + at)).join('');

function open(text: string): { log: TestLog; runLog: RunLog; events: () => (string | null)[]; first: () => string | null } {
  const log = new TestLog(text);
  const runLog = new RunLog(log.read);
  const events = (): (string | null)[] => linesOf(runLog.store.get().window!).map(({ event }) => event);
  return { log, runLog, events, first: () => events()[0]! };
}

describe('the log of a run', () => {
  it('is loaded from its end, and follows new lines', async () => {
    const { log, runLog, events, first } = open(lines(0, 10_000));
    await runLog.catchUp();
    expect(first()).not.toBe('event 0');
    expect(events().at(-1)).toBe('event 9999');
    const before = events().length;
    log.write(lines(10_000, 10_003));
    await runLog.catchUp();
    expect(events().slice(before)).toEqual(['event 10000', 'event 10001', 'event 10002']);
  });

  it('is loaded backwards and forwards without gaps', async () => {
    const { runLog, events, first } = open(lines(0, 12_000));
    await runLog.openAt(START_MS + 6_000_000);
    while (first() !== 'event 0') await runLog.loadEarlier();
    while (runLog.store.get().window!.end < runLog.store.get().window!.size) await runLog.loadLater();
    expect(events()).toEqual(Array.from({ length: 12_000 }, (_, at) => `event ${at}`));
  });

  it.each([0, 5, 6_000, 11_999])('is loaded around second %d with the lines before it', async (seconds) => {
    const { runLog, events } = open(lines(0, 12_000));
    await runLog.openAt(START_MS + seconds * 1_000 - 1);
    expect(firstLineAt(runLog.store.get().window!.lines, START_MS + seconds * 1_000 - 1)?.event).toBe(`event ${seconds}`);
    expect(events().indexOf(`event ${seconds}`)).toBeGreaterThanOrEqual(Math.min(seconds, 100));
  });

  it('skips to its end if it has grown by many chunks', async () => {
    const { log, runLog, events } = open(lines(0, 10));
    await runLog.catchUp();
    log.write('x\n'.repeat(6 * CHUNK_BYTES) + lineAt(99));
    log.reads.length = 0;
    await runLog.catchUp();
    expect(events().at(-1)).toBe('event 99');
    expect(log.reads).toHaveLength(2);
  });

  it('is loaded again after it was truncated', async () => {
    const { log, runLog, events } = open(lines(0, 10));
    await runLog.catchUp();
    log.bytes = new Uint8Array();
    log.write(lines(20, 22));
    await runLog.catchUp();
    expect(events()).toEqual(['event 20', 'event 21']);
  });

  it('keeps its lines if a request fails, and clears the error after the next request', async () => {
    const log = new TestLog(lines(0, 3));
    let fails = false;
    const runLog = new RunLog(async (offset) => {
      if (fails) throw UNREACHABLE;
      return log.read(offset);
    });
    await runLog.catchUp();
    fails = true;
    await runLog.catchUp();
    expect([runLog.store.get().error, runLog.store.get().window!.lines.length]).toEqual([UNREACHABLE, 3]);
    fails = false;
    await runLog.catchUp();
    expect(runLog.store.get().error).toBeNull();
  });

  it('runs requests one after another, and ignores repeated calls', async () => {
    const { log, runLog } = open(lines(0, 12_000));
    await runLog.catchUp();
    log.reads.length = 0;
    const { begin, end } = runLog.store.get().window!;
    const first = runLog.catchUp();
    await Promise.resolve();
    await Promise.all([first, runLog.loadEarlier(), runLog.loadEarlier(), runLog.loadEarlier()]);
    expect(log.reads).toEqual([end, begin - CHUNK_BYTES]);
  });

  it('is downloaded as a whole', async () => {
    const text = lines(0, 6_000);
    expect(await (await downloadLog(new TestLog(text).read)).text()).toBe(text);
    expect((await downloadLog(new TestLog().read)).size).toBe(0);
  });
});
