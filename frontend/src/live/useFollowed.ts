import { useEffect, useState } from 'react';

import { serverNow } from '../api/serverClock';
import { follow, type Place } from './connection';
import { Gathering } from './gathering';
import type { LineNews } from './line';
import type { ServerMessage } from './sse';
import { Store } from './store';

/** A hidden page gives its line back after so long: browsers have six to one server, for all their windows together. */
export const HIDDEN_MS = 60_000;

type News = LineNews | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

/** A store that follows `path` while it is on the page. For another path the component needs another `key`: what is known is of this one. */
export function useFollowed<State>(path: string, begin: (nowMs: number) => State, next: (state: State, news: News) => State): Store<State, News> {
  const [store] = useState(() => new Store(begin(serverNow()), next));
  useEffect(() => {
    const place: Place = { lastId: null };
    // What happens meanwhile is told when it comes back, and what was asked for before is old by then: as after any broken line.
    const rested = (): void => store.tell({ type: 'broken', nowMs: serverNow(), why: 'nobody was looking at this page', againInMs: 1 });
    return whileShown(() => followInto(path, place, store), rested);
  }, [path, store]);
  return store;
}

function followInto<State>(path: string, place: Place, store: Store<State, News>): () => void {
  const gathering = new Gathering<ServerMessage>((messages) => store.tell({ type: 'messages', nowMs: serverNow(), messages }));
  const tell = (news: LineNews): void => {
    gathering.flush();
    store.tell(news);
  };
  const leave = follow(path, {
    onOpen: () => tell({ type: 'opened', nowMs: serverNow() }),
    onHeard: (messages) => gathering.add(messages),
    onBroken: (problem, againInMs) => tell({ type: 'broken', nowMs: serverNow(), why: problem.detail, againInMs }),
    onRefused: (problem) => tell({ type: 'refused', nowMs: serverNow(), why: problem.detail }),
  }, place);
  return () => {
    leave();
    gathering.drop();
  };
}

/** `rested`: it was ended because the page is hidden. */
function whileShown(begin: () => () => void, rested: () => void): () => void {
  let end: (() => void) | null = begin();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') end ??= begin();
    else
      timer = setTimeout(() => {
        end?.();
        end = null;
        rested();
      }, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', changed);
  return () => {
    document.removeEventListener('visibilitychange', changed);
    clearTimeout(timer);
    end?.();
  };
}
