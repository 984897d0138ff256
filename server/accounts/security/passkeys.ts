import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { conflict, invalidInput, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { recentMs, requireRecentProof, unauthenticated } from '../../platform/access/guards.ts'
import { maySignInWithPassword } from '../../platform/access/roles.ts'
import { readIdentity } from '../../platform/settings/identity.ts'
import { audit } from '../audit/service.ts'
import { LinkedIdentity } from '../providers/entity.ts'
import { usableIdentities } from '../providers/identities.ts'
import { Session } from '../sessions/entity.ts'
import { lockAccount } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import {
  algorithms,
  challengeBytes,
  issueChallenge,
  redeemChallenge,
  registrationShape,
  requireRelyingParty,
  webauthn,
} from '../factors/challenges.ts'
import { Passkey, Totp } from '../factors/entity.ts'
import { requireOtherFactor, requireProvedFactor, usablePasskeys } from '../factors/factors.ts'
import { acceptAssertion } from './assertion.ts'

const maxPasskeys = 20

/**
 * Returns the options with which a browser creates a passkey for the caller.
 * @throws ApiError InsufficientPermissions without a recent proof, or a proof of a required factor that the caller has; Conflict where
 * SERVER_URL allows no passkeys, or at the maximum of passkeys.
 */
export async function startRegistration(context: SignedInContext): Promise<object> {
  await requireProofForPasskey(context)
  const { em, viewer, config, credential, database } = context
  const { id: rpID } = requireRelyingParty(config)
  await requireProvedFactor(em, context)
  const passkeys = await em.find(Passkey, { user: viewer.id })
  requireFewer(passkeys.length)
  const challenge = await issueChallenge(context, 'register', credential.id)
  return (await webauthn()).generateRegistrationOptions({
    rpName: (await readIdentity(database.reads)).name,
    rpID,
    challenge: challengeBytes(challenge),
    userID: new TextEncoder().encode(viewer.id),
    userName: viewer.email,
    userDisplayName: viewer.displayName,
    timeout: 300_000,
    supportedAlgorithmIDs: algorithms,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: passkeys.filter(({ rpId }) => rpId === rpID).map(({ credentialId }) => ({ id: credentialId })),
  })
}

/**
 * Requires a recent proof for adding a passkey. For the first factor of an account without a password, a sign-in of the last ten minutes is enough:
 * some providers never report when a user signed in (auth_time), so that the account could otherwise prove nothing, ever.
 */
async function requireProofForPasskey(context: SignedInContext): Promise<void> {
  const { em, viewer, credential, now } = context
  const isFirst =
    viewer.hasPassword === false && (await em.count(Passkey, { user: viewer.id })) + (await em.count(Totp, { user: viewer.id })) === 0
  const isNew = { id: credential.id, createdAt: { $gt: new Date(now().getTime() - recentMs) } }
  if (isFirst && credential.kind === 'session' && (await em.count(Session, isNew)) > 0) return
  requireRecentProof(context)
}

function requireFewer(count: number): void {
  if (count >= maxPasskeys) throw conflict(`You have ${count} passkeys, which is the maximum. Remove one first.`)
}

/**
 * Stores the passkey that a browser created. The session has proved a second factor with it.
 * @throws ApiError InvalidInput for a response that does not verify; Conflict for a known passkey, or at the maximum; as `startRegistration`.
 */
export async function registerPasskey(context: SignedInContext, { name, credential: given }: { name: string; credential: unknown }) {
  await requireProofForPasskey(context)
  const { em, viewer, credential, ip, now } = context
  const created = await verifiedRegistration(context, given)
  if (!created) throw invalidInput('credential: was not accepted. Start again.', 'credential')
  try {
    return await em.transactional(async (inner) => {
      await lockAccount(inner, context)
      await requireProvedFactor(inner, context)
      requireFewer(await inner.count(Passkey, { user: viewer.id }))
      const passkey = inner.create(Passkey, { ...created, user: inner.getReference(User, viewer.id), name, createdAt: now() })
      await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { hasSecondFactor: true })
      const summary = `${viewer.displayName} added the passkey "${name}"`
      audit(inner, { kind: 'passkey.added', actor: viewer, user: viewer, summary, ip })
      return passkey
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw conflict('This passkey is registered already.')
    throw error
  }
}

async function verifiedRegistration(context: SignedInContext, given: unknown) {
  const { id: expectedRPID, origin: expectedOrigin } = requireRelyingParty(context.config)
  const response = registrationShape.safeParse(given).data as RegistrationResponseJSON | undefined
  const expectedChallenge = response && (await redeemChallenge(context, 'register', context.credential.id, response))
  if (!expectedChallenge) return null
  const { verifyRegistrationResponse } = await webauthn()
  const verification = {
    supportedAlgorithmIDs: algorithms,
    response,
    expectedChallenge,
    expectedOrigin,
    expectedRPID,
    requireUserVerification: true,
  }
  // The library throws an Error for each reason.
  const { registrationInfo } = await verifyRegistrationResponse(verification).catch(() => ({ registrationInfo: undefined }))
  if (!registrationInfo) return null
  const { id, publicKey, counter } = registrationInfo.credential
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    counter,
    transports: (response.response.transports ?? []).join(',').slice(0, 200),
    isBackedUp: registrationInfo.credentialBackedUp,
    rpId: expectedRPID,
  }
}

/** Renames a passkey of the caller. @throws ApiError NotFound. */
export function renamePasskey(context: SignedInContext, id: string, name: string): Promise<Passkey> {
  const { em, viewer, ip } = context
  return em.transactional(async (inner) => {
    await lockAccount(inner, context)
    const passkey = await findOwn(inner, viewer.id, id)
    const summary = `${viewer.displayName} renamed the passkey "${passkey.name}" to "${name}"`
    if (name !== passkey.name) audit(inner, { kind: 'passkey.renamed', actor: viewer, user: viewer, summary, ip })
    passkey.name = name
    return passkey
  })
}

/**
 * Removes a passkey of the caller.
 * @throws ApiError NotFound; InsufficientPermissions without a recent proof; Conflict for the only way to sign in, or the only second factor where the
 * server requires one.
 */
export async function removePasskey(context: SignedInContext, id: string): Promise<Passkey> {
  requireRecentProof(context)
  const { em, viewer, ip, config } = context
  const isUsable = await usableIdentities(context)
  return em.transactional(async (inner) => {
    const account = await lockAccount(inner, context)
    const passkey = await findOwn(inner, viewer.id, id)
    const others = (await usablePasskeys(inner, viewer.id, config)).filter((other) => other.id !== id)
    const hasPassword = maySignInWithPassword({ role: account.role, hasPassword: account.passwordHash != null }, config)
    if (others.length === 0 && !hasPassword && !(await inner.find(LinkedIdentity, { user: viewer.id })).some(isUsable))
      throw conflict('This passkey is your only way to sign in. Add another one, or link an identity, first.')
    await requireOtherFactor(inner, context, passkey)
    inner.remove(passkey)
    const summary = `${viewer.displayName} removed the passkey "${passkey.name}"`
    audit(inner, { kind: 'passkey.removed', actor: viewer, user: viewer, summary, ip })
    return passkey
  })
}

async function findOwn(em: EntityManager, userId: string, id: string): Promise<Passkey> {
  const passkey = await em.findOne(Passkey, { id, user: userId }, { refresh: true })
  if (!passkey) throw notFound('You have no passkey with this id.')
  return passkey
}

/** Returns the options with which a browser proves with a passkey of the caller. @throws ApiError Conflict if the caller has none. */
export async function startProof(context: SignedInContext): Promise<object> {
  const { em, viewer, config, credential } = context
  const { id: rpID } = requireRelyingParty(config)
  const passkeys = await usablePasskeys(em, viewer.id, config)
  if (passkeys.length === 0) throw conflict('You have no passkey for this address. Add one first.')
  const challenge = await issueChallenge(context, 'prove', credential.id)
  const allowCredentials = passkeys.map(({ credentialId }) => ({ id: credentialId }))
  const options = { rpID, challenge: challengeBytes(challenge), userVerification: 'required', allowCredentials, timeout: 300_000 } as const
  return (await webauthn()).generateAuthenticationOptions(options)
}

/**
 * Proves with a passkey that the caller is present, like confirming the password, and that they have a second factor.
 * @throws ApiError InvalidInput for a response that does not verify; MissingAuthentication when the session has ended in the meantime.
 */
export async function provePasskey(context: SignedInContext, given: unknown): Promise<void> {
  const { em, viewer, credential, ip, now } = context
  const passkey = await acceptAssertion(context, { purpose: 'prove', holder: credential.id, userId: viewer.id }, given)
  if (!passkey) throw invalidInput('credential: was not accepted. Try again, or use another passkey.', 'credential')
  await em.transactional(async (inner) => {
    const proved = await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { provedAt: now(), hasSecondFactor: true })
    if (!proved) throw unauthenticated(context)
    const summary = `${viewer.displayName} confirmed their identity with the passkey "${passkey.name}"`
    audit(inner, { kind: 'passkey.confirmed', actor: viewer, user: viewer, summary, ip })
  })
}
