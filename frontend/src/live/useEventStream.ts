import { useEffect, useState } from 'react';

import { serverNow } from '../api/serverClock';
import { openEventStream, type StreamPosition } from './eventStream';
import { FrameBatcher } from './frameBatcher';
import type { ConnectionEvent } from './connectionState';
import type { ServerMessage } from './sseParser';
import { Store } from './store';

/** A hidden page closes its stream after this time. The stream occupies a connection, and all windows of a browser share six connections to a server. */
export const HIDDEN_MS = 60_000;

type StreamUpdate = ConnectionEvent | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

/**
 * Return a store for the stream at `path`. `reduce` computes the state of the store from the messages of the stream and from changes of the
 * connection. The stream is open while the component is mounted, except after the page has been hidden for `HIDDEN_MS`. If `path` changes, the
 * component needs a new `key`.
 */
export function useEventStream<State>(path: string, initial: (nowMs: number) => State, reduce: (state: State, update: StreamUpdate) => State): Store<State, StreamUpdate> {
  const [store] = useState(() => new Store(initial(serverNow()), reduce));
  useEffect(() => {
    const position: StreamPosition = { lastId: null };
    return whileVisible(() => connect(path, position, store));
  }, [path, store]);
  return store;
}

/** An open stream. */
interface Subscription {
  /** Close the stream because the page is hidden. When the page is visible again, the stream is reopened at the same position. */
  pause(): void;
  /** Close the stream permanently. */
  close(): void;
}

function connect<State>(path: string, position: StreamPosition, store: Store<State, StreamUpdate>): Subscription {
  const batcher = new FrameBatcher<ServerMessage>((messages) => store.dispatch({ type: 'messages', nowMs: serverNow(), messages }));
  const dispatch = (event: ConnectionEvent): void => {
    batcher.flush();
    store.dispatch(event);
  };
  const close = openEventStream(path, {
    onOpen: () => dispatch({ type: 'opened', nowMs: serverNow() }),
    onMessages: (messages) => batcher.add(messages),
    onDisconnected: (problem, retryInMs) => dispatch({ type: 'disconnected', nowMs: serverNow(), reason: problem.detail, retryInMs }),
    onRefused: (problem) => dispatch({ type: 'refused', nowMs: serverNow(), reason: problem.detail }),
  }, position);
  return {
    pause: () => {
      close();
      // Deliver the current batch, because the reopened stream starts after this batch. When the stream is reopened, all queries are stale, as after
      // an outage.
      dispatch({ type: 'paused' });
    },
    close: () => {
      close();
      batcher.drop();
    },
  };
}

function whileVisible(open: () => Subscription): () => void {
  let subscription: Subscription | null = open();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onVisibilityChange = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') subscription ??= open();
    else
      timer = setTimeout(() => {
        subscription?.pause();
        subscription = null;
      }, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', onVisibilityChange);
  return () => {
    document.removeEventListener('visibilitychange', onVisibilityChange);
    clearTimeout(timer);
    subscription?.close();
  };
}
