import type { Config } from '../../platform/config/config.ts'
import { invalidInput } from '../../errors.ts'
import { allowedScopes, includedScopes, type Role, type Scope, scopes, type Credential } from '../../platform/access/roles.ts'

// Rules for creating tokens. The current permissions of a token are `effectiveScopes` in platform/access/roles.ts; who can see a token is in
// users/policy.ts.

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

/** Returns whether creating the token requires a recent password confirmation. */
export const needsProof = (granted: readonly Scope[]): boolean => granted.includes('admin')

/**
 * Returns the expiry time of a new token: after the wanted number of days, or else the maximum of the server, and never later than that of the
 * creating token. Null for a token that never expires.
 * @throws ApiError InvalidInput for more days than the server allows.
 */
export function endOfToken(
  now: Date,
  days: number | null | undefined,
  { TOKEN_MAX_DAYS: max }: Pick<Config, 'TOKEN_MAX_DAYS'>,
  madeWith?: Credential,
): Date | null {
  const tooLong = `expiresInDays: must be at most ${max}, the maximum lifetime of tokens on this server (TOKEN_MAX_DAYS).`
  if (max !== undefined && days != null && days > max) throw invalidInput(tooLong, 'expiresInDays')
  const lifeDays = days ?? max
  const wanted = lifeDays === undefined ? null : new Date(now.getTime() + lifeDays * dayMs)
  return earlier(wanted, madeWith?.kind === 'token' ? madeWith.expiresAt : null)
}

const dayMs = 86_400_000

/** Returns the earlier of two times; null stands for never. */
export function earlier(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other
  return one < other ? one : other
}
