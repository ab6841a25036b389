import { useEffect, useState } from 'react';

import { follow } from './connection';
import { Gathering } from './gathering';
import type { LineNews } from './line';
import type { ServerMessage } from './sse';
import { Store } from './store';

/** A hidden page gives its line back after so long: browsers have six to one server, for all their windows together. */
export const HIDDEN_MS = 60_000;

type News = LineNews | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

/** A store that follows `path` while it is on the page. For another path the component needs another `key`: what is known is of this one. */
export function useFollowed<State>(path: string, begin: (nowMs: number) => State, next: (state: State, news: News) => State): Store<State, News> {
  const [store] = useState(() => new Store(begin(Date.now()), next));
  useEffect(() => whileShown(() => followInto(path, store)), [path, store]);
  return store;
}

function followInto<State>(path: string, store: Store<State, News>): () => void {
  const gathering = new Gathering<ServerMessage>((messages) => store.tell({ type: 'messages', nowMs: Date.now(), messages }));
  const tell = (news: LineNews): void => {
    gathering.flush();
    store.tell(news);
  };
  const leave = follow(path, {
    onOpen: () => tell({ type: 'opened', nowMs: Date.now() }),
    onHeard: (messages) => gathering.add(messages),
    onBroken: (problem, againInMs) => tell({ type: 'broken', nowMs: Date.now(), why: problem.detail, againInMs }),
    onRefused: (problem) => tell({ type: 'refused', nowMs: Date.now(), why: problem.detail }),
  });
  return () => {
    leave();
    gathering.drop();
  };
}

function whileShown(begin: () => () => void): () => void {
  let end: (() => void) | null = begin();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') end ??= begin();
    else
      timer = setTimeout(() => {
        end?.();
        end = null;
      }, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', changed);
  return () => {
    document.removeEventListener('visibilitychange', changed);
    clearTimeout(timer);
    end?.();
  };
}
