import { replaceEqualDeep } from '@tanstack/react-query';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { ListContextProvider, useListContext, type ListControllerResult, type RaRecord } from 'react-admin';

/**
 * Renders the rows of a list in batches, one batch per frame. Each row has about twelve components, so rendering all rows in one frame would
 * be slow. An update of a complete list renders only new and changed rows.
 */
export function IncrementalRows({ batchSize, children }: { batchSize: number; children: ReactNode }) {
  const list = useListContext<RaRecord>();
  const data = useStableRecords(list.data);
  const count = data?.length ?? 0;
  const [limit, setLimit] = useState(batchSize);
  useEffect(() => {
    if (limit >= count) return;
    const frame = requestAnimationFrame(() => setLimit(limit + batchSize));
    return () => cancelAnimationFrame(frame);
  }, [count, limit, batchSize]);
  return <ListContextProvider value={{ ...list, data: limit < count ? data?.slice(0, limit) : data } as ListControllerResult}>{children}</ListContextProvider>;
}

/** Return the same objects for unchanged records, so that their rows are not rendered again, even if their positions have changed. */
function useStableRecords(data: RaRecord[] | undefined): RaRecord[] | undefined {
  const [cache] = useState(() => new Map<RaRecord['id'], RaRecord>());
  return useMemo(() => {
    const stable = data?.map((record) => replaceEqualDeep(cache.get(record.id), record));
    cache.clear();
    for (const record of stable ?? []) cache.set(record.id, record);
    return stable;
  }, [data, cache]);
}
