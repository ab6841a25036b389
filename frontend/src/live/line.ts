/** How the line to a stream is, as a pure state machine. Times are milliseconds since 1970, by the server's clock, as that of the page is. */
export type Line =
  /** Nothing was heard yet. */
  | { is: 'opening'; sinceMs: number }
  | { is: 'live'; heardAtMs: number }
  /** It was broken or rested, and what was missed is being told. */
  | { is: 'catching-up'; heardAtMs: number; sinceMs: number; missed: number }
  /** What is shown is as old as `heardAtMs`; null: nothing was ever heard. */
  | { is: 'broken'; heardAtMs: number | null; why: string; againAtMs: number }
  /** It was given back, as nobody looked, and is not there again yet; `heardAtMs` as of a broken one. That is no outage. */
  | { is: 'resting'; heardAtMs: number | null }
  /** It will not be tried again. */
  | { is: 'refused'; why: string };

export type LineNews =
  | { type: 'opened'; nowMs: number }
  /** `what`: entries of a log, how things are now, or nothing but a sign of life. */
  | { type: 'heard'; nowMs: number; what: 'entries' | 'standing' | 'nothing'; entries: number }
  | { type: 'broken'; nowMs: number; why: string; againInMs: number }
  | { type: 'rested' }
  | { type: 'refused'; nowMs: number; why: string };

/** A sign of life so long after the line was opened means that there is nothing more to tell. */
export const CAUGHT_UP_AFTER_MS = 5_000;

export const opening = (nowMs: number): Line => ({ is: 'opening', sinceMs: nowMs });

/** A live one, as it is shown: whenever it was heard of last. */
export const LIVE: Line = { is: 'live', heardAtMs: 0 };

export const heardAtMs = (line: Line): number | null => ('heardAtMs' in line ? line.heardAtMs : null);

export function nextLine(line: Line, news: LineNews): Line {
  switch (news.type) {
    case 'opened':
      return (line.is === 'broken' || line.is === 'resting') && line.heardAtMs !== null
        ? { is: 'catching-up', heardAtMs: line.heardAtMs, sinceMs: news.nowMs, missed: 0 }
        : { is: 'live', heardAtMs: news.nowMs };
    case 'heard':
      // The server tells what was missed first, and then how things are now: that ends it.
      if (line.is === 'catching-up') {
        if (news.what === 'entries') return { ...line, heardAtMs: news.nowMs, missed: line.missed + news.entries };
        if (news.what === 'nothing' && news.nowMs - line.sinceMs < CAUGHT_UP_AFTER_MS) return line;
      }
      return { is: 'live', heardAtMs: news.nowMs };
    case 'broken':
      // That a stream ends and goes on at once is no news to anybody.
      if (news.againInMs === 0 && line.is === 'live') return line;
      return { is: 'broken', heardAtMs: heardAtMs(line), why: news.why, againAtMs: news.nowMs + news.againInMs };
    case 'rested':
      return { is: 'resting', heardAtMs: heardAtMs(line) };
    case 'refused':
      return { is: 'refused', why: news.why };
  }
}
