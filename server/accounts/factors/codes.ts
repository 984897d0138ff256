import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Secret, TOTP } from 'otpauth'
import type { Context } from '../../platform/access/context.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { unseal } from '../../platform/http/sealed.ts'
import { User } from '../users/entity.ts'
import { RecoveryCode, Totp } from './entity.ts'
import { usablePasskeys } from './factors.ts'

export const periodSeconds = 30
/** Codes of the previous and the next time step are accepted, too, because clocks differ. */
const window = 1

export const isConfirmed = { confirmedAt: { $ne: null } } as const

export type Codes = { otp?: string | null | undefined; recoveryCode?: string | null | undefined }

/** Returns the confirmed authenticator app of a user, if any. */
export const findTotp = (em: EntityManager, userId: string): Promise<Totp | null> =>
  em.findOne(Totp, { user: userId, ...isConfirmed }, { refresh: true })

/** Whether the secret of an authenticator app can be decrypted. After JWT_SECRET was replaced without JWT_SECRET_PREVIOUS, it cannot. */
export const isReadable = ({ keys }: Context, { sealed }: Totp): boolean => unseal(keys, sealed) !== null

/** Returns the ways in which a user can prove the second factor of a sign-in; none for a user without a second factor. */
export async function factorWays(context: Context, userId: string, totp: Totp | null): Promise<string[]> {
  const { em, config } = context
  const hasCodes = totp !== null && (await em.count(RecoveryCode, { user: userId })) > 0
  const hasPasskeys = (await usablePasskeys(em, userId, config)).length > 0
  return [...(totp && isReadable(context, totp) ? ['otp'] : []), ...(hasCodes ? ['recoveryCode'] : []), ...(hasPasskeys ? ['passkey'] : [])]
}

/** Returns whether the code is right, and uses it up. */
export const useCode = (context: Context, totp: Totp, { otp, recoveryCode }: Codes): Promise<boolean> =>
  otp ? useOtp(context, totp, otp) : useRecoveryCode(context.em, totp.user.id, recoveryCode ?? '')

/** Accepts a code unless its time step, or a later one, was used. */
async function useOtp({ em, keys, now }: Context, { user, sealed, confirmedAt }: Totp, otp: string): Promise<boolean> {
  const step = matchingStep(unseal(keys, sealed), otp, now())
  if (step === null) return false
  const unused = { user: user.id, confirmedAt, lastStep: { $lt: step } }
  return (await em.nativeUpdate(Totp, unused, { lastStep: step })) === 1
}

/** Returns the time step of a code within the accepted window; null for a wrong code, and if the secret could not be decrypted. */
export function matchingStep(secret: string | null, otp: string, now: Date): number | null {
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

/** Replaces the recovery codes of a user, in the unit of work of `em`. Returns the new codes. */
export async function replaceRecoveryCodes(em: EntityManager, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode)
  await em.nativeDelete(RecoveryCode, { user: userId })
  for (const code of codes) em.create(RecoveryCode, { user: em.getReference(User, userId), hash: hashOf(userId, code) })
  return codes
}

/** Uses up a recovery code. Of two concurrent requests with the same code, only one succeeds. */
const useRecoveryCode = async (em: EntityManager, userId: string, code: string): Promise<boolean> =>
  (await em.nativeDelete(RecoveryCode, { user: userId, hash: hashOf(userId, code) })) === 1
