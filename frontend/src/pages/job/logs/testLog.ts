/** An in-memory log for tests. */
import type { ReadChunk } from './findTime';
import { CHUNK_BYTES, type LogChunk } from './logWindow';

const encoder = new TextEncoder();

export class TestLog {
  bytes = new Uint8Array();
  /** The offsets of all reads. */
  readonly reads: number[] = [];

  constructor(text = '', private readonly chunkBytes = CHUNK_BYTES) {
    this.write(text);
  }

  write(text: string): void {
    this.bytes = encoder.encode(new TextDecoder().decode(this.bytes) + text);
  }

  read: ReadChunk = async (offset) => {
    this.reads.push(offset);
    return this.chunk(offset);
  };

  chunk(offset: number): LogChunk {
    const size = this.bytes.length;
    const begin = offset < 0 ? Math.max(0, size + offset) : offset <= size ? offset : 0;
    const data = this.bytes.slice(begin, begin + this.chunkBytes);
    return { data, begin, end: begin + data.length, size };
  }
}

/** Return a JSON line that is written a number of seconds after the start of the log. */
export const lineAt = (seconds: number, event = `event ${seconds}`): string => `${JSON.stringify({ event, level: 'info', timestamp: new Date(START_MS + seconds * 1_000).toISOString() })}\n`;
export const START_MS = Date.parse('2026-11-22T04:00:00Z');
