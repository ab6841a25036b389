import { useEffect, useState, type ReactNode } from 'react';
import { ListContextProvider, useListContext, type ListControllerResult, type RaRecord } from 'react-admin';

/** The rows of a list that is on a page with much else: some more in each frame until all have been there, as each is a dozen components. */
export function GrowingRows({ atOnce, children }: { atOnce: number; children: ReactNode }) {
  const list = useListContext<RaRecord>();
  const count = list.data?.length ?? 0;
  const [limit, setLimit] = useState(atOnce);
  useEffect(() => {
    if (limit >= count) return;
    const frame = requestAnimationFrame(() => setLimit(limit + atOnce));
    return () => cancelAnimationFrame(frame);
  }, [count, limit, atOnce]);
  return <ListContextProvider value={limit < count ? ({ ...list, data: list.data?.slice(0, limit) } as ListControllerResult) : list}>{children}</ListContextProvider>;
}
