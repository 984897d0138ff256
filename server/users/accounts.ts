import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../context.ts'
import { insufficientPermissions, invalidInput } from '../errors.ts'
import { clearSessionCookies, isSecure } from '../http/cookies.ts'
import { addressKey } from '../http/limits.ts'
import { revokeSessions } from '../sessions/service.ts'
import { User } from './entity.ts'
import { emailKey } from './input.ts'
import { acceptPassword, hashPassword, verifyPassword } from './password.ts'

/**
 * Makes an account with the role member for whoever asks, when the server allows it. Whether the address already had an account
 * shows neither in the answer nor in its time: the hash is made before anybody looks (decisions §4).
 * @throws ApiError InsufficientPermissions when signup is off, InvalidInput, RateLimitExceeded.
 */
export async function signUp(context: Context, input: { email: string; displayName: string; password: string }): Promise<void> {
  const { em, ip, limits, config, now } = context
  if (!config.SIGNUP_ENABLED) throw insufficientPermissions('This server does not let people sign up. Ask an administrator for an account.')
  await limits.use('signup', addressKey(ip))
  const passwordHash = await hashPassword(await acceptPassword(input.password, input, config.PASSWORD_MIN_LENGTH), config.BCRYPT_COST)
  const key = emailKey(input.email)
  if (await em.count(User, { emailKey: key })) return
  const user = em.create(User, {
    email: input.email,
    emailKey: key,
    displayName: input.displayName,
    role: 'member',
    passwordHash,
    createdAt: now(),
  })
  audit(em, { kind: 'user.created', actor: user, user, summary: `${input.displayName} signed up`, ip })
  await em.flush().catch((error: unknown) => {
    // Somebody signed up with the address a moment ago: the same answer again.
    if (!(error instanceof UniqueConstraintViolationException)) throw error
  })
}

/**
 * Changes the caller's password. Every session of theirs ends, this one too; tokens stay (interface §5.9).
 * @throws ApiError InvalidInput for a wrong current or an unfit new password, RateLimitExceeded after five wrong ones.
 */
export async function changePassword(context: SignedInContext, input: { currentPassword: string; newPassword: string }): Promise<void> {
  const { em, viewer, limits, config, ip } = context
  await limits.check('wrongPassword', viewer.id)
  const user = await em.findOneOrFail(User, viewer.id, { populate: ['passwordHash'] })
  if (!(await verifyPassword(input.currentPassword, user.passwordHash ?? null, config.BCRYPT_COST))) {
    await limits.use('wrongPassword', viewer.id)
    throw invalidInput('currentPassword: is wrong.', 'currentPassword')
  }
  const password = await acceptPassword(input.newPassword, user, config.PASSWORD_MIN_LENGTH, 'newPassword')
  if (password === input.currentPassword.normalize('NFC'))
    throw invalidInput('newPassword: must differ from the current one.', 'newPassword')
  const passwordHash = await hashPassword(password, config.BCRYPT_COST)
  await em.transactional(async (inner) => {
    await inner.nativeUpdate(User, { id: viewer.id }, { passwordHash, mustChangePassword: false })
    await revokeSessions(inner, viewer.id)
    audit(inner, {
      kind: 'user.password_changed',
      actor: viewer,
      user: viewer,
      summary: `${viewer.displayName} changed their password`,
      ip,
    })
  })
  clearSessionCookies(context.reply, isSecure(context.request, config.SERVER_URL))
}

/** Changes what the caller is called. */
export async function updateProfile({ em, viewer, ip }: SignedInContext, input: { displayName: string }): Promise<User> {
  const user = await em.findOneOrFail(User, viewer.id, { populate: ['passwordHash'] })
  if (user.displayName !== input.displayName) {
    audit(em, { kind: 'user.updated', actor: viewer, user: viewer, summary: `${user.displayName} is now called ${input.displayName}`, ip })
    user.displayName = input.displayName
    await em.flush()
  }
  return user
}
