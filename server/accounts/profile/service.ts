import { LockMode, type RequiredEntityData, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { insufficientPermissions, invalidInput } from '../../errors.ts'
import { clearSessionCookies } from '../../platform/http/cookies.ts'
import { lockAccount, revokeSessions } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import { hashPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import { acceptPassword, provePassword, requirePasswordSignIn } from '../users/password.ts'

/** Checks that sign-up is enabled. @throws ApiError InsufficientPermissions when it is disabled. */
export function requireSignUp(context: Context): void {
  requirePasswordSignIn(context)
  if (!context.config.SIGNUP_ENABLED)
    throw insufficientPermissions('Sign-up is disabled on this server. Ask an administrator for an account.')
}

/**
 * Creates an account with the role member. Neither the response nor its timing reveals whether the e-mail address is taken: the password is
 * hashed first, and both cases write an audit entry.
 * @throws ApiError InvalidInput.
 */
export async function signUp(context: Context, input: { email: string; displayName: string; password: string }): Promise<void> {
  const { em, ip, now } = context
  const passwordHash = await hashPassword(context, await acceptPassword(context, input.password, input))
  const { email, displayName } = input
  const account = { email, emailKey: emailKey(email), displayName, role: 'member', passwordHash, createdAt: now() } as const
  await em.transactional(async (inner) => {
    const user = await insert(inner, account)
    if (user) return audit(inner, { kind: 'user.created', actor: user, user, summary: `${displayName} signed up`, ip })
    const summary = 'Someone tried to sign up with the e-mail address of an account'
    const owner = await inner.findOne(User, { emailKey: account.emailKey }, { fields: ['id'] })
    return audit(inner, { kind: 'user.signup_refused', actor: null, ...(owner && { user: owner }), summary, ip })
  })
}

/** Inserts an account in a nested transaction. Returns null if the e-mail address is taken; the outer transaction can continue. */
async function insert(em: EntityManager, account: RequiredEntityData<User>): Promise<User | null> {
  try {
    return await em.transactional(async (attempt) => attempt.create(User, account))
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) return null
    throw error
  }
}

/**
 * Changes the caller's password. Ends all sessions of the caller, including the current one. Tokens remain valid.
 * @throws ApiError InvalidInput for a wrong current password or an unacceptable new one; RateLimitExceeded after five wrong ones.
 */
export async function changePassword(context: SignedInContext, input: { currentPassword: string; newPassword: string }): Promise<void> {
  const { viewer, config } = context
  const { currentPassword } = input
  let verified = await provePassword(context, currentPassword)
  const password = await acceptPassword(context, input.newPassword, viewer, 'newPassword')
  if (password === currentPassword.normalize('NFC')) throw invalidInput('newPassword: must differ from the current one.', 'newPassword')
  const passwordHash = await hashPassword(context, password)
  // If the hash was replaced concurrently, verify again: a sign-in rehashes the same password after BCRYPT_COST was changed.
  while (!(await replaceHash(context, verified, passwordHash))) verified = await provePassword(context, currentPassword)
  clearSessionCookies(context.reply, config.SERVER_URL)
}

/**
 * Replaces the verified password hash with a new one and ends every session.
 * @returns false when the hash was replaced concurrently.
 */
function replaceHash(context: SignedInContext, verified: string, passwordHash: string): Promise<boolean> {
  const { em, viewer, ip } = context
  const { id } = viewer
  return em.transactional(async (inner) => {
    await lockAccount(inner, context)
    const still = { id, passwordHash: verified }
    if (!(await inner.nativeUpdate(User, still, { passwordHash, mustChangePassword: false }))) return false
    await revokeSessions(inner, id)
    const summary = `${viewer.displayName} changed their password`
    audit(inner, { kind: 'user.password_changed', actor: viewer, user: viewer, summary, ip })
    return true
  })
}

/**
 * Changes the caller's display name.
 * @throws ApiError MissingAuthentication when the account was deleted concurrently.
 */
export function updateProfile(context: SignedInContext, { displayName }: { displayName: string }): Promise<User> {
  const { em, viewer, ip } = context
  return em.transactional(async (inner) => {
    const user = await inner.findOne(User, viewer.id, { populate: ['passwordHash'], lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!user) throw unauthenticated(context)
    if (user.displayName === displayName) return user
    const summary = `${user.displayName} changed their name to ${displayName}`
    audit(inner, { kind: 'user.updated', actor: viewer, user: viewer, summary, ip })
    user.displayName = displayName
    return user
  })
}
