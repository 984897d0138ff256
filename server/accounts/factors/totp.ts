import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { conflict, invalidInput } from '../../errors.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof, unauthenticated } from '../../platform/access/guards.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { countFailures } from '../../platform/http/limits.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import { readIdentity } from '../../platform/settings/identity.ts'
import { audit } from '../audit/service.ts'
import { Session } from '../sessions/entity.ts'
import { User } from '../users/entity.ts'
import { reloadUser } from '../users/service.ts'
import { RecoveryCode, Totp } from './entity.ts'
import { lockAccount, requireOtherFactor, usablePasskeys } from './factors.ts'

const periodSeconds = 30
/** Codes of the previous and the next time step are accepted, too, because clocks differ. */
const window = 1

const isConfirmed = { confirmedAt: { $ne: null } } as const

/**
 * Starts to set up an authenticator app. It counts once a code of it was confirmed.
 * @throws ApiError InsufficientPermissions without a recent proof; Conflict if there is one already.
 */
export async function startTotp(context: SignedInContext): Promise<{ secret: string; uri: string; qrCode: string }> {
  requireRecentProof(context)
  const { em, viewer, keys, now, database } = context
  const secret = new Secret({ size: 20 })
  await em.transactional(async (inner) => {
    if (!(await lockAccount(inner, viewer.id))) throw unauthenticated(context)
    if (await inner.count(Totp, { user: viewer.id, ...isConfirmed }))
      throw conflict('You already have an authenticator app. Remove it first.')
    await inner.nativeDelete(Totp, { user: viewer.id })
    await inner.insert(Totp, { user: viewer.id, sealed: seal(keys, secret.base32), lastStep: 0, createdAt: now(), confirmedAt: null })
  })
  const issuer = (await readIdentity(database.reads)).name
  const uri = new TOTP({ issuer, label: viewer.email, secret, period: periodSeconds }).toString()
  return { secret: secret.base32, uri, qrCode: renderSVG(uri) }
}

/**
 * Confirms the authenticator app with its first code. Returns new recovery codes. The session has proved a second factor with it.
 * @throws ApiError InvalidInput for a wrong code; Conflict if none was started; RateLimitExceeded after too many wrong codes.
 */
export async function confirmTotp(context: SignedInContext, otp: string): Promise<string[]> {
  const { em, viewer, keys, limits, now, ip, credential } = context
  const totp = await em.findOne(Totp, { user: viewer.id, confirmedAt: null }, { refresh: true })
  if (!totp) throw conflict('No authenticator app is being set up. Start again.')
  const judge = async () => matchingStep(unseal(keys, totp.sealed), otp, now())
  const step = await countFailures(limits, 'wrongCode', viewer.id, judge, (matching) => matching === null)
  if (step === null) throw wrongCode()
  return em.transactional(async (inner) => {
    if (!(await lockAccount(inner, viewer.id))) throw unauthenticated(context)
    const still = { user: viewer.id, sealed: totp.sealed, confirmedAt: null }
    if (!(await inner.nativeUpdate(Totp, still, { confirmedAt: now(), lastStep: step })))
      throw conflict('The setup was started again. Use the newest secret.')
    await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { hasSecondFactor: true })
    audit(inner, { kind: 'totp.enabled', actor: viewer, user: viewer, summary: `${viewer.displayName} added an authenticator app`, ip })
    return replaceRecoveryCodes(inner, viewer.id)
  })
}

const wrongCode = () =>
  invalidInput('otp: is wrong or was used already. Enter the current code of the app, and check the clock of the device.', 'otp')

/** Replaces the recovery codes of the caller. @throws ApiError InsufficientPermissions without a recent proof; Conflict without an authenticator app. */
export function regenerateRecoveryCodes(context: SignedInContext): Promise<string[]> {
  requireRecentProof(context)
  const { em, viewer, ip } = context
  return em.transactional(async (inner) => {
    if (!(await lockAccount(inner, viewer.id))) throw unauthenticated(context)
    if (!(await inner.count(Totp, { user: viewer.id, ...isConfirmed })))
      throw conflict('Recovery codes belong to an authenticator app. Add one first.')
    audit(inner, {
      kind: 'recovery_codes.created',
      actor: viewer,
      user: viewer,
      summary: `${viewer.displayName} created new recovery codes`,
      ip,
    })
    return replaceRecoveryCodes(inner, viewer.id)
  })
}

/**
 * Removes the authenticator app and the recovery codes of the caller.
 * @throws ApiError InsufficientPermissions without a recent proof; Conflict if there is none, or for the only factor where the server requires one.
 */
export async function disableTotp(context: SignedInContext) {
  requireRecentProof(context)
  const { em, viewer, ip } = context
  await em.transactional(async (inner) => {
    if (!(await lockAccount(inner, viewer.id))) throw unauthenticated(context)
    await requireOtherFactor(inner, context, { totp: false })
    if (!(await inner.nativeDelete(Totp, { user: viewer.id, ...isConfirmed }))) throw conflict('You have no authenticator app.')
    await inner.nativeDelete(RecoveryCode, { user: viewer.id })
    audit(inner, {
      kind: 'totp.disabled',
      actor: viewer,
      user: viewer,
      summary: `${viewer.displayName} removed their authenticator app`,
      ip,
    })
  })
  return reloadUser(em, viewer.id)
}

export type Codes = { otp?: string | null | undefined; recoveryCode?: string | null | undefined }

/** Returns the confirmed authenticator app of a user, if any. */
export const findTotp = (em: EntityManager, userId: string): Promise<Totp | null> =>
  em.findOne(Totp, { user: userId, ...isConfirmed }, { refresh: true })

/** Returns the ways in which a user with an authenticator app can prove the second factor of a sign-in. */
export async function factorWays({ em, config }: Context, userId: string): Promise<string[]> {
  const hasCodes = (await em.count(RecoveryCode, { user: userId })) > 0
  const hasPasskeys = (await usablePasskeys(em, userId, config)).length > 0
  return ['otp', ...(hasCodes ? ['recoveryCode'] : []), ...(hasPasskeys ? ['passkey'] : [])]
}

/** Returns whether the code is right, and uses it up. */
export const useCode = (context: Context, totp: Totp, { otp, recoveryCode }: Codes): Promise<boolean> =>
  otp ? useOtp(context, totp, otp) : useRecoveryCode(context.em, totp.user.id, recoveryCode ?? '')

/** Accepts a code unless its time step, or a later one, was used. Encrypts the secret with the current key, so that the previous one can be removed. */
async function useOtp({ em, keys, now }: Context, { user, sealed }: Totp, otp: string): Promise<boolean> {
  const secret = unseal(keys, sealed)
  const step = matchingStep(secret, otp, now())
  if (secret === null || step === null) return false
  const unused = { user: user.id, sealed, lastStep: { $lt: step }, ...isConfirmed }
  return (await em.nativeUpdate(Totp, unused, { lastStep: step, sealed: seal(keys, secret) })) === 1
}

/** Returns the time step of a code within the accepted window; null for a wrong code, and if the secret could not be decrypted. */
function matchingStep(secret: string | null, otp: string, now: Date): number | null {
  const token = otp.replaceAll(/\s/g, '')
  if (secret === null || !/^\d{6}$/.test(token)) return null
  const timestamp = now.getTime()
  const delta = new TOTP({ secret: Secret.fromBase32(secret), period: periodSeconds }).validate({ token, timestamp, window })
  return delta === null ? null : Math.floor(timestamp / 1000 / periodSeconds) + delta
}

const recoveryCodeCount = 10
// Base32 as in RFC 4648: no 0, 1 or 8.
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** Generates a code of 16 characters, 80 bits, in groups of four. */
function newRecoveryCode(): string {
  const characters = Array.from({ length: 16 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return characters.replaceAll(/.{4}(?!$)/g, '$&-')
}

/** The hash of a recovery code. Case, spaces and hyphens do not matter. */
const hashOf = (userId: string, code: string): string => sha256(`${userId} ${code.toLowerCase().replaceAll(/[\s-]/g, '')}`)

async function replaceRecoveryCodes(em: EntityManager, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
  await em.nativeDelete(RecoveryCode, { user: userId })
  for (const code of codes) em.create(RecoveryCode, { user: em.getReference(User, userId), hash: hashOf(userId, code) })
  return codes
}

/** Uses up a recovery code. Of two concurrent requests with the same code, only one succeeds. */
const useRecoveryCode = async (em: EntityManager, userId: string, code: string): Promise<boolean> =>
  (await em.nativeDelete(RecoveryCode, { user: userId, hash: hashOf(userId, code) })) === 1
