/** The four roles, weakest first; each includes the ones before it. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/**
 * What a token may do, weakest first; each includes the ones before it. `read`: see and download what its owner may. `write`: publish, and change
 * what its owner looks after, their own account included. `admin`: administer the server, and what others look after.
 */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ['read'],
  member: ['read', 'write'],
  admin: scopes,
  owner: scopes,
}

/** The scopes that a role may hold. */
export const allowedScopes = (role: Role): readonly Scope[] => scopesOfRole[role]

/** Scopes with those they include: `admin` includes `write`, `write` includes `read`. */
export const includedScopes = (held: readonly Scope[]): Scope[] => scopes.slice(0, level(held))

/** What a credential may do now: what it holds, within what its owner's role allows at this moment. */
export function effectiveScopes(
  viewer: { role: Role },
  credential: { kind: 'session' } | { kind: 'token'; scopes: Scope[] },
): ReadonlySet<Scope> {
  const held = credential.kind === 'token' ? level(credential.scopes) : scopes.length
  return upTo[Math.min(held, scopesOfRole[viewer.role].length)] ?? nothing
}

/** How many scopes the strongest of these stands for: each includes the ones before it. */
const level = (held: readonly Scope[]): number => held.reduce((highest, scope) => Math.max(highest, scopes.indexOf(scope) + 1), 0)

const nothing: ReadonlySet<Scope> = new Set()
const upTo: readonly ReadonlySet<Scope>[] = [nothing, ...scopes.map((_, index) => new Set(scopes.slice(0, index + 1)))]
