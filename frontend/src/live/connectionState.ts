/** The state of the connection to a stream: a pure state machine. Times are in milliseconds since 1970 by the server's clock. */
export type ConnectionState =
  /** No response yet. */
  | { status: 'connecting'; sinceMs: number }
  | { status: 'live'; heardAtMs: number }
  /** Reconnected; the server sends the missed events first. */
  | { status: 'catching-up'; heardAtMs: number; sinceMs: number; missed: number }
  /** The data shown is as old as `heardAtMs`. Null: nothing was ever received. */
  | { status: 'disconnected'; heardAtMs: number | null; reason: string; retryAtMs: number }
  /** Closed while the page was hidden, and not reopened yet. This is not an outage. */
  | { status: 'paused'; heardAtMs: number | null }
  /** The API refused the stream; there is no retry. */
  | { status: 'refused'; reason: string };

export type ConnectionEvent =
  | { type: 'opened'; nowMs: number }
  /** `what`: log entries, a current state, or only a keep-alive. */
  | { type: 'received'; nowMs: number; what: 'entries' | 'state' | 'nothing'; entries: number }
  | { type: 'disconnected'; nowMs: number; reason: string; retryInMs: number }
  | { type: 'paused' }
  | { type: 'refused'; nowMs: number; reason: string };

/** A keep-alive this long after the stream was opened means that no missed events are left. */
export const CAUGHT_UP_AFTER_MS = 5_000;

export const connecting = (nowMs: number): ConnectionState => ({ status: 'connecting', sinceMs: nowMs });

/** A live connection, for display only. */
export const LIVE: ConnectionState = { status: 'live', heardAtMs: 0 };

export const lastHeardAtMs = (connection: ConnectionState): number | null => ('heardAtMs' in connection ? connection.heardAtMs : null);

export function nextConnectionState(connection: ConnectionState, event: ConnectionEvent): ConnectionState {
  switch (event.type) {
    case 'opened':
      return (connection.status === 'disconnected' || connection.status === 'paused') && connection.heardAtMs !== null
        ? { status: 'catching-up', heardAtMs: connection.heardAtMs, sinceMs: event.nowMs, missed: 0 }
        : { status: 'live', heardAtMs: event.nowMs };
    case 'received':
      // The server sends missed entries first and the current state after them.
      if (connection.status === 'catching-up') {
        if (event.what === 'entries') return { ...connection, heardAtMs: event.nowMs, missed: connection.missed + event.entries };
        if (event.what === 'nothing' && event.nowMs - connection.sinceMs < CAUGHT_UP_AFTER_MS) return connection;
      }
      return { status: 'live', heardAtMs: event.nowMs };
    case 'disconnected':
      // The server ended the stream and it is reopened at once: no change.
      if (event.retryInMs === 0 && connection.status === 'live') return connection;
      return { status: 'disconnected', heardAtMs: lastHeardAtMs(connection), reason: event.reason, retryAtMs: event.nowMs + event.retryInMs };
    case 'paused':
      return { status: 'paused', heardAtMs: lastHeardAtMs(connection) };
    case 'refused':
      return { status: 'refused', reason: event.reason };
  }
}
