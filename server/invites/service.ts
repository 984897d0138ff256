import type { EntityManager } from '@mikro-orm/sql'
import { publicUrl } from '../http/public-url.ts'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { conflict, notFound } from '../errors.ts'
import { randomText, sha256 } from '../http/keys.ts'
import { requireRecentProof } from '../access/proof.ts'
import { User } from '../users/entity.ts'
import { editable } from '../users/editable.ts'
import { hashPassword } from '../users/hashing.ts'
import { acceptPassword } from '../users/password.ts'
import { Invite } from './entity.ts'
import { needsProof, waitsForAcceptance } from './policy.ts'

const hourMs = 3_600_000

type Issue = { actor: { id: string; displayName: string }; user: User; hours: number; serverUrl: string; ip: string; now: Date }

/** Makes an invitation inside the caller's transaction and gives its address; an older one of the same person dies. */
export async function issueInvite(em: EntityManager, { actor, user, hours, serverUrl, ip, now }: Issue): Promise<string> {
  const token = randomText(32)
  await em.nativeDelete(Invite, { user: user.id })
  em.create(Invite, { user, hash: sha256(token), createdAt: now, expiresAt: new Date(now.getTime() + hours * hourMs) })
  audit(em, { kind: 'user.invite_created', actor, user, summary: `${actor.displayName} invited ${user.displayName}`, ip })
  await em.flush()
  return `${serverUrl}/invite/${token}`
}

/**
 * Invites somebody again who has not accepted yet.
 * @throws ApiError NotFound, Conflict when the person has accepted or is disabled, InsufficientPermissions for the owner, and for a session that
 *   invites an administrator without having proved its password lately.
 */
export async function reinvite(
  context: SignedInContext,
  id: string,
  hours: number,
): Promise<{ user: User; inviteUrl: string; inviteExpiresInHours: number }> {
  const { request, em, viewer, config, ip, now } = context
  return em.transactional(async (inner) => {
    // Locks the person, if there is one to invite: an acceptance, a disabling or another invitation waits.
    const waiting = await inner.nativeUpdate(User, { id, ...waitsForAcceptance }, { isActive: true })
    const user = await editable(inner, id)
    if (!waiting)
      throw conflict(
        `${user.displayName} ${user.isActive ? 'has an account already; reset the password instead.' : 'is disabled; activate the account first.'}`,
      )
    if (needsProof(user)) requireRecentProof(context)
    const serverUrl = publicUrl(request, config.SERVER_URL)
    const inviteUrl = await issueInvite(inner, { actor: viewer, user, hours, serverUrl, ip, now: now() })
    return { user, inviteUrl, inviteExpiresInHours: hours }
  })
}

/**
 * Whom an invitation is for.
 * @throws ApiError NotFound, the same for unknown, expired and accepted ones.
 */
export async function inspectInvite(context: Context, token: string): Promise<{ email: string; displayName: string; expiresAt: Date }> {
  const { user, expiresAt } = await liveInvite(context, token)
  return { email: user.email, displayName: user.displayName, expiresAt }
}

/**
 * Accepts an invitation with a password. No session begins; the person signs in afterwards.
 * @throws ApiError NotFound as for inspecting, InvalidInput for the password.
 */
export async function acceptInvite(context: Context, token: string, given: string): Promise<User> {
  const { em, ip } = context
  const invite = await liveInvite(context, token)
  const { user } = invite
  const passwordHash = await hashPassword(context, await acceptPassword(context, given, user))
  await em.transactional(async (inner) => {
    // The person first, as everybody locks who changes an account; then whoever removes the invitation has accepted it.
    const made = await inner.nativeUpdate(User, { id: user.id, ...waitsForAcceptance }, { passwordHash })
    const taken = made && (await inner.nativeDelete(Invite, { id: invite.id, expiresAt: { $gt: context.now() } }))
    if (!taken) throw deadInvite()
    audit(inner, { kind: 'user.invite_accepted', actor: user, user, summary: `${user.displayName} accepted the invitation`, ip })
  })
  return em.findOneOrFail(User, user.id, { populate: ['passwordHash'], refresh: true })
}

/** 404 for an invitation that cannot be used. */
export const deadInvite = () => notFound('This invitation does not exist, has expired or was used. Ask an administrator for a new one.')

async function liveInvite({ em, now }: Context, token: string) {
  const invite = await em.findOne(
    Invite,
    { hash: sha256(token), expiresAt: { $gt: now() }, user: { isActive: true } },
    { populate: ['user'] },
  )
  if (!invite) throw deadInvite()
  return invite
}
