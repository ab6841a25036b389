import { useEffect } from 'react';
import { useNotify } from 'react-admin';

import { useJobStore } from '../../live/JobLiveProvider';
import { isFailedRequest, eventText } from './events/eventText';

/** Shows a notification on every tab when an operation fails. An operation can fail long after the API has accepted it. */
export function OperationFailures() {
  const store = useJobStore();
  const notify = useNotify();
  useEffect(() => {
    let { lastEventNumber } = store.get();
    return store.subscribe(() => {
      const now = store.get();
      // Notify only about new events. Older events are in the event log.
      const fresh = now.events.filter(({ number }) => number > lastEventNumber);
      ({ lastEventNumber } = now);
      for (const event of fresh.filter(isFailedRequest)) notify(eventText(event), { type: 'error', autoHideDuration: null });
    });
  }, [notify, store]);
  return null;
}
