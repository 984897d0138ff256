import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { conflict, invalidInput } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { countFailures } from '../../platform/http/limits.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import { readIdentity } from '../../platform/settings/identity.ts'
import { audit } from '../audit/service.ts'
import { type Codes, findTotp, isConfirmed, matchingStep, periodSeconds, replaceRecoveryCodes, useCode } from '../factors/codes.ts'
import { RecoveryCode, Totp } from '../factors/entity.ts'
import { requireOtherFactor, requireProvedFactor } from '../factors/factors.ts'
import { Session } from '../sessions/entity.ts'
import { lockAccount } from '../sessions/service.ts'
import { reloadUser } from '../users/service.ts'

/**
 * Starts to set up an authenticator app. It counts once a code of it was confirmed.
 * @throws ApiError InsufficientPermissions without a recent proof, or a proof of a required factor that the caller has; Conflict if there is one already.
 */
export async function startTotp(context: SignedInContext): Promise<{ secret: string; uri: string; qrCode: string }> {
  requireRecentProof(context)
  const { em, viewer, keys, now, database } = context
  const secret = new Secret({ size: 20 })
  await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    await requireProvedFactor(inner, context)
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
 * @throws ApiError InvalidInput for a wrong code; Conflict if none was started; InsufficientPermissions without a proof of a required factor that the
 * caller has; RateLimitExceeded after too many wrong codes.
 */
export async function confirmTotp(context: SignedInContext, otp: string): Promise<string[]> {
  const { em, viewer, keys, limits, now, ip, credential } = context
  const totp = await em.findOne(Totp, { user: viewer.id, confirmedAt: null }, { refresh: true })
  if (!totp) throw conflict('No authenticator app is being set up. Start again.')
  const judge = async () => matchingStep(unseal(keys, totp.sealed), otp, now())
  const step = await countFailures(limits, 'wrongCode', viewer.id, judge, (matching) => matching === null)
  if (step === null) throw wrongCode('otp')
  return em.transactional(async (inner) => {
    await lockAccount(inner, context)
    await requireProvedFactor(inner, context)
    const still = { user: viewer.id, sealed: totp.sealed, confirmedAt: null }
    if (!(await inner.nativeUpdate(Totp, still, { confirmedAt: now(), lastStep: step })))
      throw conflict('The setup was started again. Use the newest secret.')
    await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { hasSecondFactor: true })
    audit(inner, { kind: 'totp.enabled', actor: viewer, user: viewer, summary: `${viewer.displayName} added an authenticator app`, ip })
    return replaceRecoveryCodes(inner, viewer.id)
  })
}

const wrongCode = (field: 'otp' | 'recoveryCode') =>
  invalidInput(
    `${field}: is wrong or was used already. Enter the current code of the app and check the clock of the device, or enter an unused recovery code.`,
    field,
  )

/**
 * Proves the second factor of the session with a code of the authenticator app or a recovery code, which is used up.
 * @throws ApiError InvalidInput for a wrong code; Conflict without an authenticator app; RateLimitExceeded after too many wrong codes;
 * MissingAuthentication when the session has ended in the meantime.
 */
export async function proveTotp(context: SignedInContext, codes: Codes): Promise<void> {
  const { em, viewer, credential, limits, ip } = context
  const totp = await findTotp(em, viewer.id)
  if (!totp) throw noApp()
  const isRight = await countFailures(
    limits,
    'wrongCode',
    viewer.id,
    () => useCode(context, totp, codes),
    (right) => !right,
  )
  if (!isRight) throw wrongCode(codes.otp ? 'otp' : 'recoveryCode')
  await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    if (!(await inner.count(Totp, { user: viewer.id, confirmedAt: totp.confirmedAt }))) throw noApp()
    await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { hasSecondFactor: true })
    const summary = `${viewer.displayName} proved their second factor with ${codes.otp ? 'their authenticator app' : 'a recovery code'}`
    audit(inner, { kind: 'totp.confirmed', actor: viewer, user: viewer, summary, ip })
  })
}

const noApp = () => conflict('You have no authenticator app.')

/** Replaces the recovery codes of the caller. @throws ApiError InsufficientPermissions without a recent proof; Conflict without an authenticator app. */
export function regenerateRecoveryCodes(context: SignedInContext): Promise<string[]> {
  requireRecentProof(context)
  const { em, viewer, ip } = context
  return em.transactional(async (inner) => {
    await lockAccount(inner, context)
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
 * @throws ApiError InsufficientPermissions without a recent proof; Conflict without an authenticator app, or for the only factor where the server requires one.
 */
export async function disableTotp(context: SignedInContext) {
  requireRecentProof(context)
  const { em, viewer, ip } = context
  await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    await requireOtherFactor(inner, context, 'totp')
    if (!(await inner.nativeDelete(Totp, { user: viewer.id, ...isConfirmed }))) throw noApp()
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
