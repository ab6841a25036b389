/** Loads the log of a run in chunks, and keeps a part of the log. */
import { api } from '../../../api/client';
import { Store } from '../../../live/store';
import { findTime, type ReadChunk } from './findTime';
import { firstLineAt } from './logLine';
import { append, CHUNK_BYTES, openWindow, prepend, type LogChunk, type LogWindow } from './logWindow';

interface LogState {
  /** Null until the first chunk is loaded. */
  window: LogWindow | null;
  /** The error of the last request, or null if the last request succeeded. */
  error: unknown;
}

/** If the end of the log is further away, the part of the log before the last chunk is skipped. */
const SKIP_BYTES = 8 * CHUNK_BYTES;
/** The part of the log before a searched time that is loaded with it. */
const CONTEXT_BYTES = CHUNK_BYTES / 4;
/** The maximum size of a download. */
export const DOWNLOAD_BYTES_MAX = 256 * 1024 * 1024;

/** Return a function that reads chunks of the log of a run. A negative offset counts from the end of the log. */
export const logReader = (runId: number): ReadChunk => async (offset) => {
  const { data, response } = await api.GET('/api/v1/runs/{run_id}/log', { params: { path: { run_id: runId }, query: { offset } }, parseAs: 'arrayBuffer' });
  const bytes = new Uint8Array(data ?? new ArrayBuffer());
  const end = Number(response.headers.get('X-Log-Next'));
  return { data: bytes, begin: end - bytes.length, end, size: Number(response.headers.get('X-Log-Size')) };
};

/** The methods run one after another. While one method runs and another waits, further calls have no effect. */
export class RunLog {
  readonly store = new Store<LogState, Partial<LogState>>({ window: null, error: null }, (state, update) => (state.window === update.window && state.error === update.error ? state : { ...state, ...update }));

  #running: Promise<void> | undefined;
  #isWaiting = false;

  constructor(private readonly read: ReadChunk) {}

  /** Load the part of the log around a time. */
  openAt = (ms: number): Promise<void> =>
    this.#load(async () => {
      const { size } = await this.read(-1);
      const found = await findTime(this.read, size, ms);
      let window = openWindow(await this.read(Math.max(0, found - CONTEXT_BYTES)));
      // Very long lines can move the searched line to the next chunk.
      if (window.end < window.size && !firstLineAt(window.lines, ms)) window = append(window, await this.read(window.end));
      return window;
    });

  /** Load the log up to its end. If the end is far away, or if the log was truncated, load only the last chunk. */
  catchUp = (): Promise<void> =>
    this.#load(async (before) => {
      const last = async (): Promise<LogWindow> => openWindow(await this.read(-CHUNK_BYTES));
      if (before === null) return last();
      let window = before;
      do {
        const chunk = await this.read(window.end);
        if (chunk.begin !== window.end || chunk.size - chunk.end > SKIP_BYTES) return last();
        window = chunk.data.length > 0 || chunk.size !== window.size ? append(window, chunk) : window;
      } while (window.end < window.size);
      return window;
    });

  loadEarlier = (): Promise<void> =>
    this.#load(async (window) => {
      if (window === null || window.begin === 0) return window;
      const { data, begin } = await this.read(Math.max(0, window.begin - CHUNK_BYTES));
      return prepend(window, data.subarray(0, window.begin - begin));
    });

  loadLater = (): Promise<void> =>
    this.#load(async (window) => (window === null || window.end >= window.size ? window : append(window, await this.read(window.end))));

  async #load(next: (window: LogWindow | null) => Promise<LogWindow | null>): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    await this.#running;
    this.#isWaiting = false;
    await (this.#running = this.#run(next));
  }

  async #run(next: (window: LogWindow | null) => Promise<LogWindow | null>): Promise<void> {
    try {
      this.store.dispatch({ window: await next(this.store.get().window), error: null });
    } catch (error) {
      this.store.dispatch({ error });
    }
  }
}

/** Return the log of a run as a file. If the log is too large, return its end. */
export async function downloadLog(read: ReadChunk): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const { size } = await read(-1);
  for (let from = Math.max(0, size - DOWNLOAD_BYTES_MAX); from < size; ) {
    const chunk: LogChunk = await read(from);
    if (chunk.begin !== from || chunk.data.length === 0) break; // the log was truncated
    parts.push(chunk.data);
    from = chunk.end;
  }
  return new Blob(parts, { type: 'text/plain' });
}
