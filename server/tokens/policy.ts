import type { Config } from '../config/config.ts'
import { invalidInput } from '../errors.ts'
import { allowedScopes, includedScopes, type Role, type Scope, scopes } from '../roles/roles.ts'
import type { Credential } from '../roles/viewer.ts'

// What a token may be made for. What it may do at a moment is `effectiveScopes` of roles/roles.ts; who sees it, users/policy.ts.

/**
 * Returns the requested scopes, limited to what the owner's role allows and to what the creating token holds, weakest first. A scope that is not
 * allowed is replaced by those it includes: a viewer who requests `write` gets `read`.
 */
export function grantableScopes(wanted: readonly Scope[], role: Role, madeWith?: Credential): Scope[] {
  const held = madeWith?.kind === 'token' ? includedScopes(madeWith.scopes) : scopes
  const isAllowed = (scope: Scope) => allowedScopes(role).includes(scope) && held.includes(scope)
  const replaced = includedScopes(wanted.filter((scope) => !isAllowed(scope)))
  return scopes.filter((scope) => isAllowed(scope) && (wanted.includes(scope) || replaced.includes(scope)))
}

/** To make a token that administers the server, a session proves its password anew. */
export const needsProof = (granted: readonly Scope[]): boolean => granted.includes('admin')

/**
 * When a token ends that is made now: after the wanted days, else as late as the server allows, and never after the token with which it is made.
 * Null for never.
 * @throws ApiError InvalidInput for more days than the server allows.
 */
export function endOfToken(
  now: Date,
  days: number | null | undefined,
  { TOKEN_MAX_DAYS: max }: Pick<Config, 'TOKEN_MAX_DAYS'>,
  madeWith: Credential,
): Date | null {
  if (max !== undefined && days != null && days > max)
    throw invalidInput(
      `expiresInDays: must be at most ${max}, the longest life of a token on this server (TOKEN_MAX_DAYS).`,
      'expiresInDays',
    )
  const lifeDays = days ?? max
  const wanted = lifeDays === undefined ? null : new Date(now.getTime() + lifeDays * dayMs)
  return earlier(wanted, madeWith.kind === 'token' ? madeWith.expiresAt : null)
}

const dayMs = 86_400_000

function earlier(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other
  return one < other ? one : other
}
