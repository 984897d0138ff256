import type { EntityManager } from '@mikro-orm/sql'
import type { Context } from '../access/context.ts'
import { newId } from '../db/base.ts'
import { deviceCookie, isSecure, setDeviceCookie } from '../http/cookies.ts'
import { equalSecrets, hmac, type Keys, randomText, validKeys } from '../http/keys.ts'
import { addressRange } from '../http/limits/limits.ts'
import { User } from '../users/entity.ts'
import { originKinds, SignInOrigin } from './origin-entity.ts'

/** Where a sign-in comes from, as one account sees it. */
export type Origin = {
  /** What the cookie says or shall say. */
  device: string
  hashes: Hashes
  /** What the same was stored as under the previous key. */
  previousHashes: Hashes | null
  /** Those of the two that signed in to the account before. */
  known: SignInOrigin[]
}

type Hashes = Record<'device' | 'range', string>

/** For so long a device or a range is known after its last sign-in. */
const rememberedMs = 365 * 86_400_000
/** So many are remembered for an account; a new one replaces the least recently used. */
const remembered = { device: 10, range: 20 }

/** Where this request comes from. Without an account the same is looked up, and nothing found. */
export async function originOf({ em, request, config, keys, ip, now }: Context, userId: string = newId()): Promise<Origin> {
  const name = ownDevice(keys, deviceCookie(request, isSecure(request, config.SERVER_URL))) ?? randomText(32)
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
 * Under what failures to sign in to an account are counted. Strangers have a bucket of their own, so that they cannot lock out who signed in
 * before: a known device has one to itself, all known ranges share one.
 */
export function failuresKey(account: string, { hashes, known }: Origin): string {
  if (known.some(({ kind }) => kind === 'device')) return `${account} ${hashes.device}`
  return known.length > 0 ? `${account} known` : account
}

/** Remembers where somebody signed in from, inside the caller's transaction, which holds the person's row. */
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

/** Gives the browser its device cookie, for another year. */
export function giveDevice({ reply, request, config }: Context, { device }: Origin): void {
  setDeviceCookie(reply, isSecure(request, config.SERVER_URL), device, rememberedMs / 1000)
}

/** Forgets where nobody has signed in from for a year. */
export const collectOrigins = (em: EntityManager, now: Date): Promise<number> =>
  em.nativeDelete(SignInOrigin, { lastUsedAt: { $lte: new Date(now.getTime() - rememberedMs) } })

/** What the cookie says of a device: 256 random bits and their HMAC, so that only this server can name a device. */
const tagged = ({ device }: Pick<Keys, 'device'>, name: string): string => `${name}.${hmac(device, name)}`

/** The name of the device in the cookie, when this server made it, under either key. */
function ownDevice(keys: Keys, cookie: string | undefined): string | null {
  const [name = ''] = cookie?.split('.') ?? []
  return cookie !== undefined && validKeys(keys).some((valid) => equalSecrets(cookie, tagged(valid, name))) ? name : null
}
