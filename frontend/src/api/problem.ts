/** An error response of the API (application/problem+json), or `UNREACHABLE` if there was no response. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    /** The HTTP status, or 0 if there was no response. */
    readonly status: number,
    /** A machine-readable code. */
    readonly code: string,
    /** One sentence that says what failed and where. */
    readonly detail: string,
    /** What the user can do next, or an empty string. */
    readonly nextStep: string,
    /** The problem document. React-admin shows the `errors` of this document at the fields of a form. */
    readonly body: { errors?: Record<string, string> } & Record<string, unknown> = {},
    readonly requestId: string | null = null,
  ) {
    super(nextStep ? `${sentence(detail)} ${sentence(nextStep)}` : sentence(detail));
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

export const UNREACHABLE = new ApiProblem(
  0,
  'unreachable',
  'The API does not respond',
  'Check that the API is running (weir doctor) and that this machine can reach it. Jobs continue to run without the API',
);

/** Return a text as a sentence, with a capital letter and a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim().replace(/\.$/, '');
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}.`;
}

/** Parse an error response. The response can come from a proxy, so its body can have any format. */
export async function parseProblem(response: Response): Promise<ApiProblem> {
  const requestId = response.headers.get('X-Request-Id');
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = await response.json();
    if (typeof parsed === 'object' && parsed !== null) body = parsed as Record<string, unknown>;
  } catch {
    // The body is not JSON, so only the status is known.
  }
  const text = (name: string): string => (typeof body[name] === 'string' ? body[name] : '');
  if (!text('code') && response.status >= 502 && response.status <= 504) return UNREACHABLE;
  const detail = text('detail') || `The API responded with ${response.status} ${response.statusText}`.trim();
  const { errors, ...rest } = body;
  return new ApiProblem(response.status, text('code') || String(response.status), detail, text('next_step'), { ...rest, ...fieldErrors(errors) }, requestId);
}

interface FieldError {
  where: string;
  what: string;
}

/** Return the errors of a problem document by form field. The location `body.spec.parallelism` belongs to the field `spec.parallelism`. */
function fieldErrors(errors: unknown): { errors?: Record<string, string> } {
  if (!Array.isArray(errors)) return {};
  const found = (errors as FieldError[]).filter(({ where }) => where.startsWith('body.'));
  if (found.length === 0) return {};
  return { errors: Object.fromEntries(found.map(({ where, what }) => [where.slice('body.'.length), what])) };
}
