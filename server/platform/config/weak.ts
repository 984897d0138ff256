import type { Config } from './config.ts'

type Judged = Pick<Config, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS' | 'BCRYPT_COST'>

/** A setting that works but weakens security. The message does not contain its value when it is a secret. */
export type WeakSetting = { name: keyof Judged; message: string }

/** Random secrets of 32 characters have more distinct characters, also in hexadecimal. */
const minDistinctCharacters = 8

/** Below this cost, stolen password hashes are cheap to crack. */
const minBcryptCost = 10

/** Returns the settings that work but weaken security. The server starts with them and warns. */
export function weakSettings({ JWT_SECRET, JWT_SECRET_PREVIOUS, BCRYPT_COST }: Judged): WeakSetting[] {
  const weak: WeakSetting[] = []
  if (isRepetitive(JWT_SECRET))
    weak.push({
      name: 'JWT_SECRET',
      message:
        'JWT_SECRET is easy to guess because it repeats the same characters. Set it to a random value, such as the output of: openssl rand -base64 32',
    })
  if (JWT_SECRET_PREVIOUS !== undefined && isRepetitive(JWT_SECRET_PREVIOUS))
    weak.push({
      name: 'JWT_SECRET_PREVIOUS',
      message:
        'JWT_SECRET_PREVIOUS is easy to guess because it repeats the same characters. Remove it as soon as users can be asked to sign in again.',
    })
  if (BCRYPT_COST < minBcryptCost)
    weak.push({
      name: 'BCRYPT_COST',
      message: `BCRYPT_COST is ${BCRYPT_COST}: stolen password hashes are quick to guess. Use ${minBcryptCost} or more.`,
    })
  return weak
}

/** Whether a secret has few distinct characters, or repeats a part that is at most half as long. */
function isRepetitive(secret: string): boolean {
  if (new Set(secret).size < minDistinctCharacters) return true
  for (let period = 1; period <= secret.length / 2; period++) if (secret.startsWith(secret.slice(period))) return true
  return false
}
