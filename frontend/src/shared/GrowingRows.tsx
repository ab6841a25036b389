import { replaceEqualDeep } from '@tanstack/react-query';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { ListContextProvider, useListContext, type ListControllerResult, type RaRecord } from 'react-admin';

/**
 * The rows of a list that is on a page with much else, and that grows: some more in each frame until all have been there, as each is a dozen
 * components, and then only those that are new or have changed.
 */
export function GrowingRows({ atOnce, children }: { atOnce: number; children: ReactNode }) {
  const list = useListContext<RaRecord>();
  const data = useSame(list.data);
  const count = data?.length ?? 0;
  const [limit, setLimit] = useState(atOnce);
  useEffect(() => {
    if (limit >= count) return;
    const frame = requestAnimationFrame(() => setLimit(limit + atOnce));
    return () => cancelAnimationFrame(frame);
  }, [count, limit, atOnce]);
  return <ListContextProvider value={{ ...list, data: limit < count ? data?.slice(0, limit) : data } as ListControllerResult}>{children}</ListContextProvider>;
}

/** Records that say what they have said before are the same objects, so nothing of them is drawn anew, wherever in the list they have got to. */
function useSame(data: RaRecord[] | undefined): RaRecord[] | undefined {
  const [known] = useState(() => new Map<RaRecord['id'], RaRecord>());
  return useMemo(() => {
    const same = data?.map((one) => replaceEqualDeep(known.get(one.id), one));
    known.clear();
    for (const one of same ?? []) known.set(one.id, one);
    return same;
  }, [data, known]);
}
