/** `jobs 0-24/319`: 319. Beyond 10,000 the API only says that there are more, as one more than that. */
export function totalOf(contentRange: string | null): number {
  const found = /\/(\d+)$/.exec(contentRange ?? '');
  if (!found) throw new Error(`the answer to a list has no Content-Range but ${JSON.stringify(contentRange)}: a proxy must let it through`);
  return Number(found[1]);
}

export const COUNTED_MAX = 10_000;
