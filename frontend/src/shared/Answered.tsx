import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { Failure, Waiting } from './Standins';

/** The answer to a query, or what stands for it. What was known before stays when asking again fails, below the reason. */
export function Answered<Data>({ query, height, children }: { query: UseQueryResult<Data>; height?: number; children: (data: Data) => ReactNode }) {
  const retry = (): void => void query.refetch();
  if (query.data === undefined) return query.error ? <Failure error={query.error} onRetry={retry} /> : <Waiting {...(height ? { height } : {})} />;
  return (
    <>
      {query.error && <Failure error={query.error} onRetry={retry} />}
      {children(query.data)}
    </>
  );
}
