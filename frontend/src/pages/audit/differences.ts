/** What an entry of the audit says has changed, field by field: a pure function. */
export interface Difference {
  /** `spec.checkpointing.interval`. */
  path: string;
  how: 'added' | 'removed' | 'changed';
  /** As text; null: it was not there, or is not. */
  before: string | null;
  after: string | null;
}

type Fields = Record<string, unknown>;

/** In the order in which fields appear, those of `before` first. What is the same on both sides is left out. */
export function differences(before: Fields | null, after: Fields | null): Difference[] {
  const [old, now] = [flat(before ?? {}), flat(after ?? {})];
  const found: Difference[] = [];
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(path) ?? null, now.get(path) ?? null];
    if (was !== is) found.push({ path, how: was === null ? 'added' : is === null ? 'removed' : 'changed', before: was, after: is });
  }
  return found;
}

function flat(fields: Fields, prefix = '', into = new Map<string, string>()): Map<string, string> {
  for (const [name, value] of Object.entries(fields)) {
    const path = prefix + name;
    const inner = typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
    if (inner && Object.keys(inner).length > 0) flat(inner, `${path}.`, into);
    else into.set(path, typeof value === 'string' ? value : JSON.stringify(value) ?? '');
  }
  return into;
}

/** Of a line of the list: `role, disabled`. */
export function fieldsOf(found: readonly Difference[], most = 4): string {
  const names = found.map(({ path }) => path);
  return names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}
