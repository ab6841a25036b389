import type { Schemas } from '../../api/types';

type Role = Schemas['Role'];

/** The roles, with descriptions of what they permit. */
export const ROLES: readonly { id: Role; name: string; may: string }[] = [
  { id: 'viewer', name: 'viewer', may: 'Read only' },
  { id: 'operator', name: 'operator', may: 'Deploy, start and stop jobs, trigger savepoints, apply upgrades, edit alert rules' },
  { id: 'admin', name: 'admin', may: 'Do everything that operators can do, manage users, tokens, webhooks and secrets, read the audit log' },
];

/** Return the roles that a user with these permissions can give to a token. A token has at most the user's own role. */
export function grantableRoles(permissions: readonly string[]): Role[] {
  return ROLES.map(({ id }) => id).filter((role) => (role === 'viewer' ? true : permissions.includes(role === 'operator' ? 'operate' : 'administer')));
}

const ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 20;

/** Generate a password of 20 characters from an alphabet of 56 characters that do not look alike. */
export function generatePassword(random: (count: number) => Uint32Array = (count) => crypto.getRandomValues(new Uint32Array(count))): string {
  return Array.from(random(LENGTH), (value) => ALPHABET[value % ALPHABET.length]).join('');
}
