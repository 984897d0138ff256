import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Single-purpose keys derived from a secret (HKDF, RFC 5869). `fingerprint` is stored to identify the secret; it does not reveal the secret. */
const purposes = ['session', 'csrf', 'device', 'setup', 'upload', 'image', 'decoy', 'fingerprint', 'sealed'] as const
type DerivedKeys = Record<(typeof purposes)[number], Buffer>

/** Keys derived from JWT_SECRET, and from JWT_SECRET_PREVIOUS, which only verify existing values during rotation. */
export type Keys = DerivedKeys & { previous: DerivedKeys | null }

/** Derives the keys. Changing the secret without passing the old one as `previous` ends all sessions. */
export const deriveKeys = (secret: string, previous?: string): Keys => ({
  ...keysOf(secret),
  previous: previous === undefined ? null : keysOf(previous),
})

/** Returns all keys that are valid for verification, current first. */
export const validKeys = (keys: Keys): [DerivedKeys, ...DerivedKeys[]] => (keys.previous ? [keys, keys.previous] : [keys])

const keysOf = (secret: string): DerivedKeys =>
  Object.fromEntries(purposes.map((purpose) => [purpose, derive(secret, purpose)])) as DerivedKeys

/** Returns the SHA-256 hash in hex. */
export const sha256 = (text: string): string => hash('sha256', text)

/** Returns the HMAC-SHA256 in hex. */
export const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** Returns `bytes` random bytes in base64url. */
export const randomText = (bytes = 32): string => randomBytes(bytes).toString('base64url')

/** Compares two secrets in constant time. */
export const equalSecrets = (given: string, expected: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'))

/** Loads the library for signed tokens on demand, because most servers accept none. */
export const loadJose = () => import('jose')

/** Signature algorithms with a public key. Others would accept that key, or a client secret, as a shared secret, or no signature at all. */
export const publicKeyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** Derives a single-purpose key from a secret. */
export const derive = (secret: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', `snug ${purpose}`, 32))
