import type { Schemas } from '../../api/types';

type Role = Schemas['Role'];

/** What each role is, as docs/control-plane.md has it. */
export const ROLES: readonly { id: Role; name: string; may: string }[] = [
  { id: 'viewer', name: 'viewer', may: 'looks' },
  { id: 'operator', name: 'operator', may: 'deploys, starts, stops, takes savepoints, applies plans that go forward, writes rules of alerts' },
  { id: 'admin', name: 'admin', may: 'all of that; users, everybody’s tokens, webhooks, audit' },
];

/** Roles of a token that whoever has these permissions may make: no more than he has. */
export function rolesWithin(permissions: readonly string[]): Role[] {
  return ROLES.map(({ id }) => id).filter((role) => (role === 'viewer' ? true : permissions.includes(role === 'operator' ? 'operate' : 'administer')));
}

const ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 20;

/** A password that nobody has to think up: 20 of 56 characters, none of which looks like another. */
export function newPassword(random: (count: number) => Uint32Array = (count) => crypto.getRandomValues(new Uint32Array(count))): string {
  return Array.from(random(LENGTH), (value) => ALPHABET[value % ALPHABET.length]).join('');
}
