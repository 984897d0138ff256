import type { EntityManager } from '@mikro-orm/sql'
import type { Context } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { readCookie, setCookie } from '../../platform/http/cookies.ts'
import { equalSecrets, hmac, type Keys, randomText, validKeys } from '../../platform/http/keys.ts'
import { addressRange } from '../../platform/http/limits.ts'
import { User } from '../users/entity.ts'
import { originKinds, SignInOrigin } from './entity.ts'

/** The origin of a sign-in (device and address range), relative to one account. */
export type Origin = {
  /** Value of the device cookie. */
  device: string
  hashes: Hashes
  /** Hashes of the same origin under the previous key, after a key rotation. */
  previousHashes: Hashes | null
  /** The stored origins of the account that match the device or the address range. */
  known: SignInOrigin[]
}

type Hashes = Record<'device' | 'range', string>

/** How long a device or a range is remembered after its last sign-in. */
const rememberedMs = 365 * 86_400_000
/** Maximum number of origins per account. A new one replaces the least recently used. */
const remembered = { device: 10, range: 20 }

/** Determines the origin of a request. For an unknown account it makes the same query, with a random id, so that the timing does not differ. */
export async function originOf({ em, request, config, keys, ip, now }: Context, userId: string = newId()): Promise<Origin> {
  const name = ownDevice(keys, readCookie(request, 'device', config.SERVER_URL)) ?? randomText(32)
  const [hashes, previousHashes = null] = validKeys(keys).map((valid) => ({
    device: hmac(valid.device, `${userId} device ${tagged(valid, name)}`),
    range: hmac(valid.device, `${userId} range ${addressRange(ip)}`),
  })) as [Hashes, Hashes?]
  const since = new Date(now().getTime() - rememberedMs)
  const all = [hashes, previousHashes].flatMap((some) => (some ? Object.values(some) : []))
  const known = await em.find(SignInOrigin, { user: userId, hash: { $in: all }, lastUsedAt: { $gt: since } })
  return { device: tagged(keys, name), hashes, previousHashes, known }
}

/**
 * Returns the key under which failed sign-ins to an account are counted. Unknown origins share one counter that does not affect known ones, so
 * that attackers cannot lock out the user. Each known device has its own counter; all known ranges share one.
 */
export function failuresKey(account: string, { hashes, known }: Origin): string {
  if (known.some(({ kind }) => kind === 'device')) return `${account} ${hashes.device}`
  return known.length > 0 ? `${account} known` : account
}

/** Stores the origin of a sign-in, in the caller's transaction, which must hold the lock of the user's row. */
export async function rememberOrigin(em: EntityManager, userId: string, { hashes, previousHashes }: Origin, now: Date): Promise<void> {
  const stored = await em.find(SignInOrigin, { user: userId }, { orderBy: { lastUsedAt: 'desc', id: 'desc' }, refresh: true })
  for (const kind of originKinds) {
    const ofKind = stored.filter((origin) => origin.kind === kind)
    const known = ofKind.find(({ hash }) => hash === hashes[kind]) ?? ofKind.find(({ hash }) => hash === previousHashes?.[kind])
    if (known) Object.assign(known, { hash: hashes[kind], lastUsedAt: now })
    else {
      em.create(SignInOrigin, { user: em.getReference(User, userId), kind, hash: hashes[kind], createdAt: now, lastUsedAt: now })
      for (const oldest of ofKind.slice(remembered[kind] - 1)) em.remove(oldest)
    }
  }
}

/** Sets the device cookie for another year. */
export function sendDeviceCookie({ reply, config }: Context, { device }: Origin): void {
  setCookie(reply, 'device', config.SERVER_URL, device, rememberedMs / 1000)
}

/** Deletes origins without a sign-in for a year. */
export const collectOrigins = (em: EntityManager, now: Date): Promise<number> =>
  em.nativeDelete(SignInOrigin, { lastUsedAt: { $lte: new Date(now.getTime() - rememberedMs) } })

/** Builds the value of the device cookie: a random name of 256 bits and its HMAC, so that clients cannot make one up. */
const tagged = ({ device }: Pick<Keys, 'device'>, name: string): string => `${name}.${hmac(device, name)}`

/** Returns the device name in the cookie if it was signed with the current or the previous key, otherwise null. */
function ownDevice(keys: Keys, cookie: string | undefined): string | null {
  const [name = ''] = cookie?.split('.') ?? []
  return cookie !== undefined && validKeys(keys).some((valid) => equalSecrets(cookie, tagged(valid, name))) ? name : null
}
