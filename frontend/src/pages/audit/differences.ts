/** Pure functions that compute the changed fields of an audit entry. */
interface Difference {
  /** The path of the field, such as `spec.checkpointing.interval`. */
  path: string;
  kind: 'added' | 'removed' | 'changed';
  /** The value as text. Null if the field did not exist. */
  before: string | null;
  after: string | null;
}

type Fields = Record<string, unknown>;

/**
 * Return the changed fields in their original order. The fields of `before` come first. `references` contains the texts that replace ids, by field and
 * id: `{'webhook_id 3': 'webhook chat'}`.
 */
export function differences(before: Fields | null, after: Fields | null, references: Readonly<Record<string, string>> = {}): Difference[] {
  const named = (values: Map<string, string>) => new Map([...values].map(([path, value]) => [path, references[`${path} ${value}`] ?? value]));
  const [old, now] = [named(flat(before ?? {})), named(flat(after ?? {}))];
  const found: Difference[] = [];
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(path) ?? null, now.get(path) ?? null];
    if (was !== is) found.push({ path, kind: was === null ? 'added' : is === null ? 'removed' : 'changed', before: was, after: is });
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

/** Return the names of changed fields in one line, such as `role, disabled`. */
export function summarizeFields(found: readonly Difference[], most = 4): string {
  const names = found.map(({ path }) => path);
  return names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}
