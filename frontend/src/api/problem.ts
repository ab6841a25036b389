/** What the backend says when something is refused (application/problem+json), or what stands for it when nobody answers. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    /** Of HTTP; 0: there was no answer. */
    readonly status: number,
    /** A word for programs. */
    readonly code: string,
    /** One sentence: what is wrong, and where. */
    readonly detail: string,
    /** What to do about it; may be empty. */
    readonly nextStep: string,
    /** All that came. React-admin shows `errors` of it beside the fields of a form. */
    readonly body: { errors?: Record<string, string> } & Record<string, unknown> = {},
    readonly requestId: string | null = null,
  ) {
    super(nextStep ? `${capital(detail)}. ${capital(nextStep)}.` : `${capital(detail)}.`);
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

export const UNREACHABLE = new ApiProblem(
  0,
  'unreachable',
  'the control plane does not answer',
  'see whether it runs (weir doctor) and whether this machine reaches it; jobs go on without it',
);

function capital(sentence: string): string {
  const trimmed = sentence.trim().replace(/\.$/, '');
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
}

/** From an answer that is no success. A proxy on the way may say anything. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const requestId = response.headers.get('X-Request-Id');
  let body: Record<string, unknown> = {};
  try {
    const found: unknown = await response.json();
    if (typeof found === 'object' && found !== null) body = found as Record<string, unknown>;
  } catch {
    // No JSON: the status has to say it all.
  }
  const text = (name: string): string => (typeof body[name] === 'string' ? (body[name]) : '');
  if (!text('code') && response.status >= 502 && response.status <= 504) return UNREACHABLE;
  const detail = text('detail') || `the answer was ${response.status} ${response.statusText}`.trim();
  const { errors, ...rest } = body;
  return new ApiProblem(response.status, text('code') || String(response.status), detail, text('next_step'), { ...rest, ...fields(errors) }, requestId);
}

interface FieldProblem {
  where: string;
  what: string;
}

/** `body.spec.parallelism` is the field `spec.parallelism` of a form. */
function fields(errors: unknown): { errors?: Record<string, string> } {
  if (!Array.isArray(errors)) return {};
  const found = (errors as FieldProblem[]).filter(({ where }) => where.startsWith('body.'));
  if (found.length === 0) return {};
  return { errors: Object.fromEntries(found.map(({ where, what }) => [where.slice('body.'.length), what])) };
}
