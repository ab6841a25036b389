/** List responses like those of the API, with sort, range, filter and Content-Range. */
type Row = Record<string, unknown>;

/** Return a list response. The filter `q` matches a part of the name. */
export function listResponse(rows: readonly object[], query: URLSearchParams, unit: string, fallback: [string, 'ASC' | 'DESC'] = ['id', 'DESC']): Response {
  const [field, order] = JSON.parse(query.get('sort') ?? JSON.stringify(fallback)) as [string, 'ASC' | 'DESC'];
  const [first, last] = JSON.parse(query.get('range') ?? '[0,24]') as [number, number];
  const filter = JSON.parse(query.get('filter') ?? '{}') as Row;
  const found = (rows as Row[]).filter((row) => Object.entries(filter).every(([name, wanted]) => matches(row, name, wanted)));
  const direction = order === 'DESC' ? -1 : 1;
  const sorted = [...found].sort((a, b) => nullsLast(a[field], b[field]) || direction * compare(a[field], b[field]) || direction * compare(a.id, b.id));
  const page = sorted.slice(first, last + 1);
  const shown = page.length > 0 ? `${first}-${first + page.length - 1}` : '*';
  return Response.json(page, { headers: { 'Content-Range': `${unit} ${shown}/${found.length}` } });
}

function matches(row: Row, name: string, wanted: unknown): boolean {
  if (name === 'q') return String(row.name).toLowerCase().includes(String(wanted).toLowerCase());
  if (name === 'before_id') return (row.id as number) < (wanted as number);
  if (name === 'labels') return Object.entries(wanted as Record<string, string>).every(([key, value]) => (row.labels as Record<string, string>)[key] === value);
  if (name === 'needs_attention') return wanted === (row.health === 'needs_attention');
  // The filter `kept` matches completed checkpoints whose files are not deleted.
  if (name === 'kept') return wanted === (row.state === 'COMPLETED' && row.discarded_at === null);
  return (Array.isArray(wanted) ? wanted : [wanted]).includes(row[name]);
}

/** Sort null values last, both in ascending and in descending order. */
const nullsLast = (a: unknown, b: unknown): number => Number(a === null) - Number(b === null);

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a ?? '').localeCompare(String(b ?? ''));
}
