import { randomInt } from 'node:crypto'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { addressKey, countFailures } from '../../platform/http/limits.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { grantableScopes, needsProof } from '../tokens/policy.ts'
import { User } from '../users/entity.ts'
import { Session } from '../sessions/entity.ts'
import { lockAccount } from '../sessions/service.ts'
import { DeviceRequest } from './entity.ts'
import { clientId, OauthError, optional, type Parameters, readScopes, requiredParameter } from './parameters.ts'

// The device authorization grant (RFC 8628): a client on a machine without a browser shows a code, which its user enters on another device.

/** Lifetime of a request in seconds. */
const lifeSeconds = 600
/** Minimum time between two polls in seconds, until the client polls too fast. */
const pollSeconds = 5

/** Stores the request of a device. @returns the codes in the words of RFC 8628 §3.2, without URLs. @throws OauthError */
export async function requestDevice({ em, ip, now }: Context, parameters: Parameters) {
  if (requiredParameter(parameters, 'client_id') !== clientId) throw new OauthError('invalid_client', 'client_id must be cli.')
  const scopes = readScopes(optional(parameters, 'scope'))
  const [deviceCode, userCode] = [randomText(32), newUserCode()]
  const createdAt = now()
  const expiresAt = new Date(createdAt.getTime() + lifeSeconds * 1000)
  const row = { deviceHash: sha256(deviceCode), userCode, scopes: scopes.join(','), clientIp: ip, createdAt, expiresAt, pollSeconds }
  em.create(DeviceRequest, row)
  await em.flush()
  return { device_code: deviceCode, user_code: shown(userCode), expires_in: lifeSeconds, interval: pollSeconds }
}

/** The characters of user codes: without vowels, so that no words result, and without characters that look alike (RFC 8628 §6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'

const newUserCode = (): string => Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('')

/** Returns a user code as people read it: `BCDF-GHJK`. */
const shown = (userCode: string): string => `${userCode.slice(0, 4)}-${userCode.slice(4)}`

/** Returns the stored form of a user code: in upper case, without separators. */
const storedCode = (typed: string): string => typed.toUpperCase().replaceAll(/[\s\p{Pd}]/gu, '')

/** A request that waits for an answer. `scopes` are the requested scopes that the user can currently grant. */
export type WaitingDevice = { userCode: string; scopes: Scope[]; clientIp: string; createdAt: Date; expiresAt: Date }

/**
 * Returns the waiting request with this user code, in any case, with or without separators.
 * @throws ApiError NotFound for an unknown or expired code, and once the request was answered; RateLimitExceeded after too many wrong codes of the account or its network.
 */
export async function findDevice(context: SignedInContext, typed: string): Promise<WaitingDevice> {
  const { em, viewer, ip, limits } = context
  const look = () => em.findOne(DeviceRequest, waiting(context, storedCode(typed)), { refresh: true })
  const isWrong = (found: DeviceRequest | null) => found === null
  const lookForAccount = () => countFailures(limits, 'userCode', `account ${viewer.id}`, look, isWrong)
  const found = await countFailures(limits, 'userCode', `address ${addressKey(ip)}`, lookForAccount, isWrong)
  if (!found) throw unknownCode()
  const { userCode, scopes, clientIp, createdAt, expiresAt } = found
  return { userCode: shown(userCode), scopes: grantable(scopes, viewer), clientIp, createdAt, expiresAt }
}

const grantable = (scopes: string, { role }: Pick<SignedInContext['viewer'], 'role'>) => grantableScopes(scopes.split(',') as Scope[], role)

/** Returns the condition for a request without an answer. Reads and answers share it, so concurrent answers cannot both succeed. */
const waiting = ({ now }: SignedInContext, userCode: string) => ({ userCode, answer: null, expiresAt: { $gt: now() } })

const unknownCode = () =>
  notFound('No device is waiting with this code: it was mistyped, answered, or is older than 10 minutes. Start again on the device.')

/**
 * Allows the device to get a token for the caller's account.
 * @throws ApiError as `findDevice`; InsufficientPermissions for the scope admin in a session without a recent password confirmation.
 */
export async function approveDevice(context: SignedInContext, typed: string): Promise<WaitingDevice> {
  const device = await findDevice(context, typed)
  if (needsProof(device.scopes)) requireRecentProof(context)
  return answer(context, device, 'approved')
}

/** Denies the device a token. @throws ApiError as `findDevice` */
export async function denyDevice(context: SignedInContext, typed: string): Promise<WaitingDevice> {
  return answer(context, await findDevice(context, typed), 'denied')
}

async function answer(context: SignedInContext, device: WaitingDevice, given: 'approved' | 'denied'): Promise<WaitingDevice> {
  const { em, viewer, credential, ip } = context
  const answered = await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    const by = { user: inner.getReference(User, viewer.id), session: inner.getReference(Session, credential.id) }
    const row = { ...by, answer: given, scopes: device.scopes.join(',') }
    const changed = await inner.nativeUpdate(DeviceRequest, waiting(context, storedCode(device.userCode)), row)
    const summary = `${viewer.displayName} authorized a device at ${device.clientIp} (${device.scopes.join(', ')})`
    if (changed && given === 'approved') audit(inner, { kind: 'oauth.approved', actor: viewer, user: viewer, summary, ip })
    return changed > 0
  })
  if (!answered) throw unknownCode()
  return device
}
