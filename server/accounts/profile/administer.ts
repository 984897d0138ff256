import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { publicUrl } from '../../platform/http/public-url.ts'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { conflict, insufficientPermissions, notFound } from '../../errors.ts'
import { Invite } from '../invites/entity.ts'
import { issueInvite } from '../invites/service.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { adminCommand } from '../../platform/config/version.ts'
import { revokeSessions } from '../sessions/service.ts'
import { changeUnlessOwner, editable, replacePassword, requirePerson, limitLookups, reloadUser } from '../users/service.ts'
import type { Role } from '../../platform/access/roles.ts'
import { User } from '../users/entity.ts'
import { generatePassword, acceptPassword, requirePasswordSignIn } from '../users/password.ts'
import { hashPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import { isOneself, canBecomeOwner } from '../users/policy.ts'

type AssignableRole = Exclude<Role, 'owner'>
type NewUser = { email: string; displayName: string; role: AssignableRole; mode: 'password' | 'invite'; expiresInHours: number }

/**
 * Creates an account with a one-time password or an invitation link, either of which is returned.
 * @throws ApiError Conflict when the e-mail address is taken; InsufficientPermissions for creating an administrator in a session without a recent
 * password confirmation.
 */
export async function createUser(context: SignedInContext, input: NewUser) {
  const { request, em, viewer, config, ip, now } = context
  const { email, displayName, role, mode, expiresInHours } = input
  if (role === 'admin') requireRecentProof(context)
  if (mode === 'password') requirePasswordSignIn(context)
  const generatedPassword = mode === 'password' ? generatePassword() : null
  const passwordHash = generatedPassword && (await hashPassword(context, generatedPassword))
  const serverUrl = publicUrl(request, config.SERVER_URL)
  try {
    return await em.transactional(async (inner) => {
      const account = { email, emailKey: emailKey(email), displayName, role, passwordHash, mustChangePassword: mode === 'password' }
      const user = inner.create(User, { ...account, createdAt: now() })
      const summary = `${viewer.displayName} created an account for ${displayName} (${role})`
      audit(inner, { kind: 'user.created', actor: viewer, user, summary, ip })
      await inner.flush()
      const inviteUrl =
        mode === 'invite' ? await issueInvite(inner, { actor: viewer, user, hours: expiresInHours, serverUrl, ip, now: now() }) : null
      return { user, mode, generatedPassword, inviteUrl, inviteExpiresInHours: inviteUrl === null ? null : expiresInHours }
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw conflict('An account with this e-mail address already exists.')
    throw error
  }
}

type UserChanges = {
  role?: AssignableRole | null | undefined
  displayName?: string | null | undefined
  isActive?: boolean | null | undefined
}

/**
 * Changes the role, the name or the active state of a user. Omitted fields stay unchanged. Disabling an account ends its sessions; its tokens get
 * 401 until the account is active again.
 * @throws ApiError NotFound; Conflict for a service account; InsufficientPermissions for the owner, for the caller's own role or active state, and for promoting or activating an
 * administrator in a session without a recent password confirmation.
 */
export async function updateUser(context: SignedInContext, id: string, changes: UserChanges): Promise<User> {
  const { em, viewer, ip } = context
  const { role, displayName, isActive } = changes
  if (isOneself(context, { id }) && (role != null || isActive != null))
    throw insufficientPermissions('You cannot change your own role or active state. Ask another administrator.')
  await em.transactional(async (inner) => {
    const user = await editable(inner, id)
    requirePerson(user)
    const changed = [
      role != null && role !== user.role && `role ${role}`,
      displayName != null && displayName !== user.displayName && `name ${displayName}`,
      isActive != null && isActive !== user.isActive && (isActive ? 'active' : 'disabled'),
    ].filter(Boolean)
    if (changed.length === 0) return
    const willAdminister = (role ?? user.role) === 'admin'
    if (willAdminister && (user.role !== 'admin' || (isActive && !user.isActive))) requireRecentProof(context)
    const columns = {
      ...(role != null && { role, hasMappedRole: false }),
      ...(displayName != null && { displayName }),
      ...(isActive != null && { isActive }),
    }
    await changeUnlessOwner(inner, id, columns)
    if (isActive === false) await revokeAccess(inner, id)
    const summary = `${viewer.displayName} changed ${user.displayName}: ${changed.join(', ')}`
    audit(inner, { kind: 'user.updated', actor: viewer, user, summary, ip })
  })
  return reloadUser(em, id)
}

/**
 * Sets the password of a user to the given one, or to a generated one that is returned. Ends the user's sessions. The user must choose another
 * password at the next sign-in.
 * @throws ApiError NotFound; InvalidInput; InsufficientPermissions for the owner, for the caller's own account, and for a session without a recent
 * password confirmation; Conflict for a service account, and when the password was changed concurrently.
 */
export async function resetPassword(context: SignedInContext, id: string, given: string | null | undefined) {
  const { em, viewer, ip } = context
  if (isOneself(context, { id }))
    throw insufficientPermissions('You cannot reset your own password here. Change it in your account settings.')
  requireRecentProof(context)
  requirePasswordSignIn(context)
  const user = await editable(em, id)
  requirePerson(user)
  const generatedPassword = given == null ? generatePassword() : null
  const passwordHash = await hashPassword(context, generatedPassword ?? (await acceptPassword(context, given ?? '', user)))
  await em.transactional(async (inner) => {
    await replacePassword(inner, user, passwordHash)
    await revokeAccess(inner, id)
    const summary = `${viewer.displayName} reset the password of ${user.displayName}`
    audit(inner, { kind: 'user.password_reset', actor: viewer, user, summary, ip })
  })
  return { user: await reloadUser(em, id), generatedPassword }
}

async function revokeAccess(em: EntityManager, userId: string): Promise<void> {
  await revokeSessions(em, userId)
  await em.nativeDelete(Invite, { user: userId })
}

/**
 * Transfers the ownership to an active administrator. The previous owner becomes an administrator in the same transaction.
 * @throws ApiError NotFound for an unknown address; Conflict when the user is not an active administrator or the caller is no longer the owner;
 * RateLimitExceeded; InsufficientPermissions for a session without a recent password confirmation.
 */
export async function transferOwnership(context: SignedInContext, email: string) {
  requireRecentProof(context)
  return limitLookups(context, () => transfer(context, email))
}

async function transfer({ em, viewer, ip }: SignedInContext, email: string) {
  const target = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!target) throw notFound('There is no user with this e-mail address.')
  if (target.id === viewer.id) throw conflict('You already own this server. Name another administrator.')
  requirePerson(target)
  if (!canBecomeOwner(target)) throw conflict(explainNoOwner(target))
  try {
    await em.transactional(async (inner) => {
      // Each update repeats its condition. Of two concurrent transfers, or a transfer and a demotion, one is rolled back.
      const left = await inner.nativeUpdate(User, { id: viewer.id, role: 'owner' }, { role: 'admin', hasMappedRole: false })
      const taken = left && (await inner.nativeUpdate(User, { id: target.id, role: 'admin', isActive: true }, { role: 'owner' }))
      if (!taken) throw justChanged()
      const summary = `${viewer.displayName} made ${target.displayName} the owner`
      audit(inner, { kind: 'owner.transferred', actor: viewer, user: target, summary, ip })
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw justChanged()
    throw error
  }
  return { owner: await reloadUser(em, target.id), previousOwner: await reloadUser(em, viewer.id) }
}

function explainNoOwner({ displayName, email, role, isActive }: User): string {
  if (role !== 'admin' || !isActive) return `${displayName} must be an active administrator first.`
  return `${displayName} has no password. The owner needs one, to sign in without a provider. Set one on the server: ${adminCommand} reset-password ${email}`
}

const justChanged = () => conflict('The roles were changed at the same time. Reload, then try again.')
