/** The four roles, weakest first. Each includes the previous ones. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/**
 * The scopes of tokens, weakest first. Each includes the previous ones. `read`: see and download what the owner of the token can. `write`: also
 * publish, and change what the owner maintains, including the owner's account. `admin`: also administer the server and what others maintain.
 */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ['read'],
  member: ['read', 'write'],
  admin: scopes,
  owner: scopes,
}

/** Returns the scopes that a role allows. */
export const allowedScopes = (role: Role): readonly Scope[] => scopesOfRole[role]

/** Returns the scopes with all scopes that they include: `admin` includes `write`, which includes `read`. */
export const includedScopes = (held: readonly Scope[]): Scope[] => scopes.slice(0, level(held))

/** Returns the current permissions of a credential: its scopes, limited by the current role of its owner. */
export function effectiveScopes(
  viewer: { role: Role },
  credential: { kind: 'session' } | { kind: 'token'; scopes: Scope[] },
): ReadonlySet<Scope> {
  const held = credential.kind === 'token' ? level(credential.scopes) : scopes.length
  return upTo[Math.min(held, scopesOfRole[viewer.role].length)] ?? nothing
}

/** Returns how many scopes the strongest of the given scopes includes, itself included. */
const level = (held: readonly Scope[]): number => held.reduce((highest, scope) => Math.max(highest, scopes.indexOf(scope) + 1), 0)

const nothing: ReadonlySet<Scope> = new Set()
const upTo: readonly ReadonlySet<Scope>[] = [nothing, ...scopes.map((_, index) => new Set(scopes.slice(0, index + 1)))]
