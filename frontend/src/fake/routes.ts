/** How endpoints of the invented installation are written down, and how they refuse. */
import type { Permission } from '../api/types';
import type { World } from './world';

export interface Asked {
  world: World;
  /** Name of whoever asks, and what he may. */
  who: string;
  may: Permission[];
  request: Request;
  query: URLSearchParams;
  /** What stood for `:id` and the like in the path. */
  ids: string[];
}
export type Answer = Response | Promise<Response>;
export type Route = [method: string, path: RegExp, needs: Permission | null, answer: (asked: Asked) => Answer];

/** `/jobs/:id/specs/:id`: each `:id` is a number, given in `ids`. */
export const at = (path: string): RegExp => new RegExp(`^/api/v1${path.replaceAll(':id', '(\\d+)')}$`);

export function problem(status: number, code: string, detail: string, next_step = ''): Response {
  return Response.json(
    { type: `urn:weir:problem:${code}`, title: code, status, detail, code, next_step },
    { status, headers: { 'Content-Type': 'application/problem+json', 'X-Request-Id': '4f1c0a77d2e95b36' } },
  );
}
