/** Routes and error responses of the fake API. */
import type { Permission } from '../api/types';
import type { Installation } from './installation';

export interface RouteRequest {
  installation: Installation;
  /** The caller's name and permissions. */
  userName: string;
  permissions: Permission[];
  request: Request;
  query: URLSearchParams;
  /** The numbers in place of `:id` in the path. */
  ids: string[];
}
export type RouteResponse = Response | Promise<Response>;
export type Route = [method: string, path: RegExp, needs: Permission | null, answer: (asked: RouteRequest) => RouteResponse];

/** Return a route for a path such as `/jobs/:id/specs/:id`. The handler gets the number for each `:id` in `ids`. */
export const apiPath = (path: string): RegExp => new RegExp(`^/api/v1${path.replaceAll(':id', '(\\d+)')}$`);

export function problem(status: number, code: string, detail: string, next_step = ''): Response {
  return Response.json(
    { type: `urn:weir:problem:${code}`, title: code, status, detail, code, next_step },
    { status, headers: { 'Content-Type': 'application/problem+json', 'X-Request-Id': '4f1c0a77d2e95b36' } },
  );
}
