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
    return whileShown(() => followInto(path, place, store));
  }, [path, store]);
  return store;
}

/** What ends it. */
interface Following {
  /** Because the page is hidden: it is followed again from the same place. */
  rest(): void;
  /** For good. */
  leave(): void;
}

function followInto<State>(path: string, place: Place, store: Store<State, News>): Following {
  const gathering = new Gathering<ServerMessage>((messages) => store.tell({ type: 'messages', nowMs: serverNow(), messages }));
  const tell = (news: LineNews): void => {
    gathering.flush();
    store.tell(news);
  };
  const end = follow(path, {
    onOpen: () => tell({ type: 'opened', nowMs: serverNow() }),
    onHeard: (messages) => gathering.add(messages),
    onBroken: (problem, againInMs) => tell({ type: 'broken', nowMs: serverNow(), why: problem.detail, againInMs }),
    onRefused: (problem) => tell({ type: 'refused', nowMs: serverNow(), why: problem.detail }),
  }, place);
  return {
    rest: () => {
      end();
      // With what is gathered still: the place is past it, so it is not told again. And what was asked for before is old when the line is
      // there again, as after one that was broken.
      tell({ type: 'rested' });
    },
    leave: () => {
      end();
      gathering.drop();
    },
  };
}

function whileShown(begin: () => Following): () => void {
  let following: Following | null = begin();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') following ??= begin();
    else
      timer = setTimeout(() => {
        following?.rest();
        following = null;
      }, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', changed);
  return () => {
    document.removeEventListener('visibilitychange', changed);
    clearTimeout(timer);
    following?.leave();
  };
}
