import { audit } from '../../accounts/audit/service.ts'
import { idOf } from '../../platform/db/base.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { notFound } from '../../errors.ts'
import { AccessToken } from '../../accounts/tokens/entity.ts'
import { withDescendants, revokeTree } from '../../accounts/tokens/revoke.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'
import { byOperator, person } from './commands.ts'

/**
 * Lists the active tokens of all accounts or of one account, sorted by owner. Secrets are not stored, so they cannot be shown.
 * @throws ApiError NotFound for an unknown e-mail address.
 */
export async function listAccessTokens({ em }: Operation, email?: string): Promise<Outcome> {
  const where = { revokedAt: null, ...(email !== undefined && { user: (await person(em, email)).id }) }
  const found = await em.find(AccessToken, where, { populate: ['user'], orderBy: { user: { emailKey: 'asc' }, id: 'asc' } })
  const tokens = found.map((token) => ({
    id: token.id,
    owner: token.user.email,
    name: token.name,
    prefix: token.prefix,
    scopes: token.scopes.split(','),
    createdAt: token.createdAt.toISOString(),
    expiresAt: token.expiresAt?.toISOString() ?? null,
    lastUsedAt: token.lastUsedAt?.toISOString() ?? null,
  }))
  const lines = tokens.map(({ id, owner, prefix, scopes, expiresAt, lastUsedAt, name }) =>
    [id, owner, `${prefix}…`, scopes.join(','), `expires ${expiresAt ?? 'never'}`, `last used ${lastUsedAt ?? 'never'}`, name].join('  '),
  )
  return { text: [...lines, `${counted(tokens.length, 'tokens')}.`].join('\n'), data: { tokens } }
}

/**
 * Revokes a token of any account, and all tokens created with it, immediately and permanently.
 * @throws ApiError NotFound.
 */
export async function revokeAccessToken({ em, config }: Operation, given = ''): Promise<Outcome> {
  const id = idOf(given)
  const token = id === null ? null : await em.findOne(AccessToken, { id }, { populate: ['user'] })
  if (!token) throw notFound(`There is no token with the id ${given}.`)
  const { user, name } = token
  const now = (await sharedClock(em, config))()
  const revoked = await em.transactional(async (inner) => {
    const count = await revokeTree(inner, token.id, now)
    const summary = byOperator(`revoked the token "${name}" of ${user.displayName}${withDescendants(count)}`)
    if (count > 0) audit(inner, { kind: 'token.revoked', actor: null, user, summary })
    return count
  })
  const data = { id: token.id, owner: user.email, name, revoked }
  if (revoked === 0) return { text: `The token "${name}" of ${user.email} is already revoked.`, data }
  return { text: `The token "${name}" of ${user.email} is revoked${withDescendants(revoked)}.`, data }
}
