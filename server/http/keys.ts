import { createHash, createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Keys for one purpose each, derived from JWT_SECRET (HKDF, RFC 5869), so that a new secret ends every session. */
export type Keys = { session: Buffer; csrf: Buffer; device: Buffer; setup: Buffer }

/** Derives the keys. */
export const deriveKeys = (secret: string): Keys => ({
  session: derive(secret, 'session'),
  csrf: derive(secret, 'csrf'),
  device: derive(secret, 'device'),
  setup: derive(secret, 'setup'),
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

const derive = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `snug ${purpose}`, 32))
