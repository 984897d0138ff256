import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { conflict, invalidInput } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { countFailures } from '../../platform/http/limits.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import { readIdentity } from '../../platform/settings/identity.ts'
import { audit } from '../audit/service.ts'
import { isConfirmed, matchingStep, periodSeconds, replaceRecoveryCodes } from '../factors/codes.ts'
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
  if (step === null) throw wrongCode()
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

const wrongCode = () =>
  invalidInput('otp: is wrong or was used already. Enter the current code of the app, and check the clock of the device.', 'otp')

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
