import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { newSecret, prefixOf } from '../../platform/access/token-secret.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { audit } from '../audit/service.ts'
import { lockAccount } from '../sessions/service.ts'
import { AccessToken } from './entity.ts'
import { earlier, endOfToken, needsProof } from './policy.ts'
import type { TokenOwner } from './service.ts'

export type Rotation = { id: string; overlapHours?: number | null | undefined; expiresInDays?: number | null | undefined }

const hourMs = 3_600_000
/** Hours for which the previous secret works if the caller gives none. */
const defaultOverlap = 24

/**
 * Gives a token of the caller, or of a service account that the caller manages, a new secret. Name, scopes and limits stay. The expiry stays too, or is
 * set again, but never beyond what creating a token allows. The previous secret works until the overlap ends; an even older one stops working. A token
 * may rotate itself and the tokens that were created with it, so that revoking it also revokes every secret that it has obtained.
 * @throws ApiError NotFound when the token belongs to another account or is revoked; Conflict when it has expired, or is rotated or revoked at the same
 * time; InsufficientPermissions for a token with the scope admin in a session without recent proof, or when the calling token may not rotate it.
 */
export async function rotateToken(
  context: SignedInContext,
  { id, overlapHours, expiresInDays }: Rotation,
  owner: TokenOwner = context.viewer,
) {
  const { em, viewer, ip, now } = context
  const token = await findRotatable(context, id, owner)
  const secret = newSecret()
  const overlapEnd = new Date(now().getTime() + (overlapHours ?? defaultOverlap) * hourMs)
  const previousExpiresAt = earlier(overlapEnd, token.expiresAt ?? null)
  const expiresAt = await newEnd(context, token, expiresInDays)
  const change = { previousHash: token.hash, previousExpiresAt, hash: sha256(secret), prefix: prefixOf(secret), expiresAt }
  await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    await owner.check?.(inner)
    // The condition fails after a rotation or revocation since the token was read.
    const changed = await inner.nativeUpdate(AccessToken, { id, hash: token.hash, revokedAt: null }, change)
    if (!changed)
      throw conflict('This token was rotated or revoked at the same time. Use the secret of that rotation, or create another token.')
    const ofOther = viewer.id === owner.id ? '' : ` of ${owner.displayName}`
    const summary = `${viewer.displayName} rotated the secret of the token "${token.name}"${ofOther}; the previous one works until ${previousExpiresAt?.toISOString()}`
    const { publisher } = owner
    audit(inner, { kind: 'token.rotated', actor: viewer, user: owner, summary, ip, ...(publisher !== undefined && { publisher }) })
  })
  return { secret, token: Object.assign(token, change) }
}

/** Returns a token of the account, outside the identity map, that the caller can rotate now. */
async function findRotatable(context: SignedInContext, id: string, owner: TokenOwner): Promise<AccessToken> {
  const { em, credential, now } = context
  const token = await em.findOne(AccessToken, { id, user: owner.id, revokedAt: null }, { disableIdentityMap: true })
  if (!token) throw notFound(`${owner.id === context.viewer.id ? 'You have' : `${owner.displayName} has`} no token with this id.`)
  if (token.expiresAt && token.expiresAt <= now()) throw conflict('This token has expired. Create another one.')
  if (needsProof(token.scopes.split(',') as Scope[])) requireRecentProof(context)
  if (credential.kind === 'token' && !(await isMadeWith(em, token, credential.id)))
    throw insufficientPermissions(
      'An access token may rotate only itself and the tokens that were created with it. Sign in to rotate others.',
    )
  return token
}

/** Returns whether a token is the token with this id, or was created with it, directly or by another one. */
async function isMadeWith(em: EntityManager, token: AccessToken, id: string): Promise<boolean> {
  for (let current: AccessToken | null | undefined = token; current;) {
    if (current.id === id) return true
    current = current.madeWith && (await em.findOne(AccessToken, { id: current.madeWith.id }))
  }
  return false
}

/** Returns the expiry after a rotation: in the wanted number of days or unchanged, and never later than that of the token that created it. */
async function newEnd(
  { em, config, credential, now }: SignedInContext,
  { expiresAt, madeWith }: AccessToken,
  days: number | null | undefined,
): Promise<Date | null> {
  const allowed = endOfToken(now(), days, config, credential)
  const parent = madeWith && (await em.findOneOrFail(AccessToken, { id: madeWith.id }))
  return earlier(days == null ? earlier(expiresAt ?? null, allowed) : allowed, parent?.expiresAt ?? null)
}
