/** A pure state machine of the connection to a stream. Times are in milliseconds since 1970 by the server's clock. */
export type ConnectionState =
  /** There is no response yet. */
  | { status: 'connecting'; sinceMs: number }
  | { status: 'live'; heardAtMs: number }
  /** The connection is open again, and the server sends the missed events first. */
  | { status: 'catching-up'; heardAtMs: number; sinceMs: number; missed: number }
  /**
   * The connection is lost. `heardAtMs` is the time of the last message, or null if no message has been received yet. The displayed data is as old as
   * the last message.
   */
  | { status: 'disconnected'; heardAtMs: number | null; reason: string; retryAtMs: number }
  /** The stream was closed while the page was hidden, and is not open again yet. A paused stream is not an outage. */
  | { status: 'paused'; heardAtMs: number | null }
  /** The API refused the stream. The page does not request the stream again. */
  | { status: 'refused'; reason: string };

export type ConnectionEvent =
  | { type: 'opened'; nowMs: number }
  /** `what` says whether the message contains events, the current state, or only a keep-alive. */
  | { type: 'received'; nowMs: number; what: 'entries' | 'state' | 'nothing'; entries: number }
  | { type: 'disconnected'; nowMs: number; reason: string; retryInMs: number }
  | { type: 'paused' }
  | { type: 'refused'; nowMs: number; reason: string };

/** If a keep-alive arrives at least this long after the stream was opened, the server has sent all missed events. */
export const CAUGHT_UP_AFTER_MS = 5_000;

export const connecting = (nowMs: number): ConnectionState => ({ status: 'connecting', sinceMs: nowMs });

/** A constant live state, for pages without a stream and for components that do not need the time of the last message. */
export const LIVE: ConnectionState = { status: 'live', heardAtMs: 0 };

export const lastHeardAtMs = (connection: ConnectionState): number | null => ('heardAtMs' in connection ? connection.heardAtMs : null);

export function nextConnectionState(connection: ConnectionState, event: ConnectionEvent): ConnectionState {
  switch (event.type) {
    case 'opened':
      return (connection.status === 'disconnected' || connection.status === 'paused') && connection.heardAtMs !== null
        ? { status: 'catching-up', heardAtMs: connection.heardAtMs, sinceMs: event.nowMs, missed: 0 }
        : { status: 'live', heardAtMs: event.nowMs };
    case 'received':
      // The server first sends the missed events and then the current state.
      if (connection.status === 'catching-up') {
        if (event.what === 'entries') return { ...connection, heardAtMs: event.nowMs, missed: connection.missed + event.entries };
        if (event.what === 'nothing' && event.nowMs - connection.sinceMs < CAUGHT_UP_AFTER_MS) return connection;
      }
      return { status: 'live', heardAtMs: event.nowMs };
    case 'disconnected':
      // The server ended the stream and the page reopens the stream immediately, so the connection stays live.
      if (event.retryInMs === 0 && connection.status === 'live') return connection;
      return { status: 'disconnected', heardAtMs: lastHeardAtMs(connection), reason: event.reason, retryAtMs: event.nowMs + event.retryInMs };
    case 'paused':
      return { status: 'paused', heardAtMs: lastHeardAtMs(connection) };
    case 'refused':
      return { status: 'refused', reason: event.reason };
  }
}
