import { LockMode } from '@mikro-orm/core'
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

type Rotation = { id: string; overlapHours?: number | null | undefined; expiresInDays?: number | null | undefined }

const hourMs = 3_600_000
/** Hours for which the previous secret works if the caller gives none. */
const defaultOverlap = 24

/**
 * Gives one of the caller's tokens a new secret. Name, scopes and limits stay. The expiry stays too, or is set again, but never beyond what creating a
 * token allows. The previous secret works until the overlap ends; an even older one stops working. A token may rotate itself and the tokens that were
 * created with it, so that revoking it also revokes every secret that it has obtained.
 * @throws ApiError NotFound when the token belongs to another user or is revoked; Conflict when it has expired, or is rotated at the same time;
 * InsufficientPermissions for a token with the scope admin in a session without recent proof, or when the calling token may not rotate it.
 */
export async function rotateToken(context: SignedInContext, { id, overlapHours, expiresInDays }: Rotation) {
  const { em, viewer, ip, now } = context
  const { hash } = await findOwn(em, context, id)
  const secret = newSecret()
  const token = await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    const locked = await findOwn(inner, context, id, LockMode.PESSIMISTIC_WRITE)
    if (locked.hash !== hash) throw conflict('This token is being rotated at the same time. Use the secret of that rotation.')
    const at = now()
    const previousExpiresAt = earlier(new Date(at.getTime() + (overlapHours ?? defaultOverlap) * hourMs), locked.expiresAt ?? null)
    const expiresAt = await newEnd(inner, context, locked, expiresInDays)
    Object.assign(locked, { previousHash: locked.hash, previousExpiresAt, hash: sha256(secret), prefix: prefixOf(secret), expiresAt })
    const summary = `${viewer.displayName} rotated the secret of the token "${locked.name}"; the previous one works until ${previousExpiresAt?.toISOString()}`
    audit(inner, { kind: 'token.rotated', actor: viewer, user: viewer, summary, ip })
    return locked
  })
  return { secret, token: await em.refreshOrFail(token) }
}

/** Returns a token of the caller that can be rotated now. */
async function findOwn(em: EntityManager, context: SignedInContext, id: string, lockMode = LockMode.NONE): Promise<AccessToken> {
  const { viewer, credential, now } = context
  const token = await em.findOne(AccessToken, { id, user: viewer.id, revokedAt: null }, { lockMode, refresh: true })
  if (!token) throw notFound('You have no token with this id.')
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
  em: EntityManager,
  { config, credential, now }: SignedInContext,
  { expiresAt, madeWith }: AccessToken,
  days: number | null | undefined,
): Promise<Date | null> {
  const allowed = endOfToken(now(), days, config, credential)
  const parent = madeWith && (await em.findOneOrFail(AccessToken, { id: madeWith.id }))
  return earlier(days == null ? earlier(expiresAt ?? null, allowed) : allowed, parent?.expiresAt ?? null)
}
