import { useEffect } from 'react';
import { useNotify } from 'react-admin';

import { useJobStore } from '../../live/JobLiveProvider';
import { hasFailed, sentence } from './events/sentence';

/** What was asked for is answered at once and done later: whoever is on the page when it fails is told why, whichever tab is open. */
export function FailureNotices() {
  const store = useJobStore();
  const notify = useNotify();
  useEffect(() => {
    let { eventNumber } = store.get();
    return store.subscribe(() => {
      const now = store.get();
      // Streams begin with what happens from then on: what was there before is in the log.
      const fresh = now.events.filter(({ number }) => number > eventNumber);
      ({ eventNumber } = now);
      for (const event of fresh.filter(hasFailed)) notify(sentence(event), { type: 'error', autoHideDuration: null });
    });
  }, [notify, store]);
  return null;
}
