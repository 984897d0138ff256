import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { hmac, type Keys, validKeys } from './keys.ts'

// AES-256-GCM. A sealed text is the id of the key, a dot, and a random nonce, the authentication tag and the ciphertext in base64url. The first ones
// had no id.
const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Returns the start of all texts that are sealed with the current key. */
export const sealedPrefix = ({ sealed }: Pick<Keys, 'sealed'>): string => `${hmac(sealed, 'id').slice(0, 16)}.`

/** Encrypts a secret that must be readable later, such as a client secret or the seed of one-time codes, under a key derived from JWT_SECRET. */
export function seal(keys: Keys, text: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, keys.sealed, nonce, { authTagLength: tagBytes })
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return sealedPrefix(keys) + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url')
}

/** Decrypts a sealed text. Returns null if it was changed, or sealed under neither the current nor the previous secret. */
export function unseal(keys: Keys, sealed: string): string | null {
  const prefix = sealed.slice(0, sealed.indexOf('.') + 1)
  const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url')
  if (bytes.length < nonceBytes + tagBytes) return null
  for (const valid of validKeys(keys)) {
    const text = prefix === '' || prefix === sealedPrefix(valid) ? decrypt(valid.sealed, bytes) : null
    if (text !== null) return text
  }
  return null
}

function decrypt(key: Buffer, bytes: Buffer): string | null {
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8')
  } catch {
    // The key or the bytes are not those of the sealed text.
    return null
  }
}
