import { createHash, createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Keys for one purpose each, derived from one secret (HKDF, RFC 5869). `fingerprint` is derived to be stored: it does not reveal the secret. */
type DerivedKeys = { session: Buffer; csrf: Buffer; device: Buffer; setup: Buffer; upload: Buffer; fingerprint: Buffer }

/** The keys of JWT_SECRET, and those of JWT_SECRET_PREVIOUS, under which nothing new is made but what exists stays valid. */
export type Keys = DerivedKeys & { previous: DerivedKeys | null }

/** Derives the keys. Without `previous`, another secret ends every session. */
export const deriveKeys = (secret: string, previous?: string): Keys => ({
  ...keysOf(secret),
  previous: previous === undefined ? null : keysOf(previous),
})

/** The keys that are valid, those of JWT_SECRET first. */
export const validKeys = (keys: Keys): [DerivedKeys, ...DerivedKeys[]] => (keys.previous ? [keys, keys.previous] : [keys])

const keysOf = (secret: string): DerivedKeys => ({
  session: derive(secret, 'session'),
  csrf: derive(secret, 'csrf'),
  device: derive(secret, 'device'),
  setup: derive(secret, 'setup'),
  upload: derive(secret, 'upload'),
  fingerprint: derive(secret, 'fingerprint'),
})

/** SHA-256 in hex. */
export const sha256 = (text: string): string => hash('sha256', text)

/** HMAC-SHA256 in hex. */
export const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** `bytes` of randomness in base64url. */
export const randomText = (bytes = 32): string => randomBytes(bytes).toString('base64url')

/** Compares without telling how much was right. */
export function equalSecrets(given: string, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest())
}

/** A key for one purpose, derived from a secret. */
export const derive = (secret: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', `snug ${purpose}`, 32))
