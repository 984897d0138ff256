import type { EntityManager } from '@mikro-orm/sql'
import { publicUrl } from '../../platform/http/public-url.ts'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { conflict, notFound } from '../../errors.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { User } from '../users/entity.ts'
import { editable, reloadUser, requirePerson } from '../users/service.ts'
import { hashPassword } from '../users/hashing.ts'
import { acceptPassword, requirePasswordSignIn } from '../users/password.ts'
import { Invite } from './entity.ts'

/**
 * The people who can be invited again and can accept: those without a password or linked identity who are not disabled. Accepting requires the
 * invitation's token, not a sign-in.
 */
export const waitsForAcceptance = { kind: 'person', isActive: true, passwordHash: null, providerSignInAt: null } as const

const hourMs = 3_600_000

type Issue = { actor: { id: string; displayName: string }; user: User; hours: number; serverUrl: string; ip: string; now: Date }

/** Creates an invitation in the caller's transaction and returns its URL. Replaces the user's previous invitation. */
export async function issueInvite(em: EntityManager, { actor, user, hours, serverUrl, ip, now }: Issue): Promise<string> {
  const token = randomText(32)
  await em.nativeDelete(Invite, { user: user.id })
  em.create(Invite, { user, hash: sha256(token), createdAt: now, expiresAt: new Date(now.getTime() + hours * hourMs) })
  audit(em, { kind: 'user.invite_created', actor, user, summary: `${actor.displayName} invited ${user.displayName}`, ip })
  await em.flush()
  return `${serverUrl}/invite/${token}`
}

/**
 * Invites a user again who has not accepted yet.
 * @throws ApiError NotFound; Conflict when the user has accepted or is disabled, or is a service account; InsufficientPermissions for the owner, and for inviting an
 * administrator in a session without a recent password confirmation.
 */
export async function reinvite(context: SignedInContext, id: string, hours: number) {
  const { request, em, viewer, config, ip, now } = context
  return em.transactional(async (inner) => {
    // Locks the user if the invitation is pending, so that concurrent acceptances, deactivations and invitations wait.
    const waiting = await inner.nativeUpdate(User, { id, ...waitsForAcceptance }, { isActive: true })
    const user = await editable(inner, id)
    requirePerson(user)
    if (!waiting)
      throw conflict(
        `${user.displayName} ${user.isActive ? 'already has an account. Reset the password instead.' : 'is disabled. Activate the account first.'}`,
      )
    // Anyone who has the link gets the account.
    if (user.role === 'admin') requireRecentProof(context)
    const serverUrl = publicUrl(request, config.SERVER_URL)
    const inviteUrl = await issueInvite(inner, { actor: viewer, user, hours, serverUrl, ip, now: now() })
    return { user, inviteUrl, inviteExpiresInHours: hours }
  })
}

/**
 * Returns the recipient of an invitation.
 * @throws ApiError NotFound, with the same message for unknown, expired and accepted invitations.
 */
export async function inspectInvite(context: Context, token: string) {
  const { user, expiresAt } = await liveInvite(context, token)
  return { email: user.email, displayName: user.displayName, expiresAt }
}

/**
 * Accepts an invitation by setting a password. Does not start a session; the user signs in afterwards.
 * @throws ApiError NotFound as `inspectInvite`; InvalidInput for the password.
 */
export async function acceptInvite(context: Context, token: string, given: string): Promise<User> {
  const { em, ip } = context
  requirePasswordSignIn(context)
  const invite = await liveInvite(context, token)
  const { user } = invite
  const passwordHash = await hashPassword(context, await acceptPassword(context, given, user))
  await em.transactional(async (inner) => {
    // Locks the user first, like all changes of accounts. Of concurrent acceptances, only one deletes the invitation and succeeds.
    const made = await inner.nativeUpdate(User, { id: user.id, ...waitsForAcceptance }, { passwordHash })
    const taken = made && (await inner.nativeDelete(Invite, { id: invite.id, expiresAt: { $gt: context.now() } }))
    if (!taken) throw invalidInvite()
    audit(inner, { kind: 'user.invite_accepted', actor: user, user, summary: `${user.displayName} accepted the invitation`, ip })
  })
  return reloadUser(em, user.id)
}

/** Builds the NotFound error for an invitation that cannot be used. */
export const invalidInvite = () => notFound('This invitation does not exist, has expired or was used. Ask an administrator for a new one.')

/** Returns the invitation with this token, or null if none can be accepted. */
export async function findInvite({ em, now }: Pick<Context, 'em' | 'now'>, token: string) {
  const live = { hash: sha256(token), expiresAt: { $gt: now() }, user: { isActive: true } }
  return em.findOne(Invite, live, { populate: ['user'] })
}

async function liveInvite(context: Context, token: string) {
  const invite = await findInvite(context, token)
  if (!invite) throw invalidInvite()
  return invite
}
