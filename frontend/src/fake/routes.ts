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
  /** The numbers in the path, one for each `:id` of the pattern. */
  ids: string[];
}
export type RouteResponse = Response | Promise<Response>;
export type Route = [method: string, path: RegExp, needs: Permission | null, answer: (asked: RouteRequest) => RouteResponse];

/** Return the pattern of a path such as `/jobs/:id/specs/:id`. `RouteRequest.ids` contains the number for each `:id`. */
export const apiPath = (path: string): RegExp => new RegExp(`^/api/v1${path.replaceAll(':id', '(\\d+)')}$`);

/** Check the header If-Match. Return null if If-Match contains the current version of the resource. Otherwise, return an error response. */
export function checkIfMatch({ request }: Pick<RouteRequest, 'request'>, { version }: { version: number }): Response | null {
  const seen = request.headers.get('If-Match');
  if (seen === null) return problem(428, 'if-match', 'This request changes a resource and requires the header If-Match.', 'Read the resource and send its ETag as If-Match.');
  return seen === '*' || seen === `"${version}"` ? null : problem(412, 'changed', `The resource has changed: its version is now ${version}.`, 'Read the resource again and repeat the change.');
}

export function problem(status: number, code: string, detail: string, next_step = ''): Response {
  return Response.json(
    { type: `urn:weir:problem:${code}`, title: code, status, detail, code, next_step },
    { status, headers: { 'Content-Type': 'application/problem+json', 'X-Request-Id': '4f1c0a77d2e95b36' } },
  );
}
