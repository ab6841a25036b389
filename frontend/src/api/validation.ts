/** Validates the fields of a request against the limits in the OpenAPI document, before the request is sent. The API also checks rules that the OpenAPI document does not contain. */
import { count } from '../format';
import { FIELDS } from './fields';

type FieldName = keyof typeof FIELDS;
type Limits = { type: string; default?: unknown; pattern?: string } & Partial<Record<'minLength' | 'maxLength' | 'minimum' | 'maximum' | 'exclusiveMinimum', number>>;

/** Return the default of a field as text. */
export const defaultOf = (name: FieldName): string => String((FIELDS[name] as Limits).default ?? '');

/** Return an error if the value is outside of the limits, else null. `format` is the error for a value that does not match the pattern. */
export function fieldError(name: FieldName, value: unknown, format = `Invalid format. Enter a value such as ${defaultOf(name)}`): string | null {
  const { type, pattern = '', minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity }: Limits = FIELDS[name];
  if (type === 'string') {
    const text = String(value);
    if (text.length > maxLength) return `At most ${count(maxLength)} characters`;
    const matches = new RegExp(pattern, 'u').test(text);
    if (matches && text.length >= minLength) return null;
    if (text === '') return 'Required';
    return matches ? `At least ${count(minLength)} characters` : format;
  }
  const isWhole = type === 'integer';
  const number = Number(value);
  if (number >= minimum && number <= maximum && number > exclusiveMinimum && (!isWhole || Number.isInteger(number))) return null;
  const bounds = ([['at least', minimum], ['above', exclusiveMinimum], ['at most', maximum]] as const).filter(([, bound]) => Number.isFinite(bound));
  return `Enter a ${isWhole ? 'whole ' : ''}number, ${bounds.map(([word, bound]) => `${word} ${count(bound)}`).join(', ')}`;
}

/** Return a validator for an input of react-admin. The validator accepts empty values, which `required()` refuses. */
export const fieldValidator = (name: FieldName, format?: string) => (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : fieldError(name, value, format) ?? undefined;
