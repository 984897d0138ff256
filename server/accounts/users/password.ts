import type { Config } from '../../platform/config/config.ts'
import { invalidInput } from '../../errors.ts'
import type { Caller } from './password-turns.ts'
import { estimateStrength } from './strength.ts'

type Person = { email: string; displayName: string }

/**
 * Validates a new password and returns it in NFC form, ready to be hashed. It must have at least PASSWORD_MIN_LENGTH characters and at most 72 bytes
 * (the limit of bcrypt), and must not be the user's e-mail address or name, a common password, or guessable within minutes by the estimate of
 * zxcvbn, which takes the names of the user and the server into account.
 * @throws ApiError InvalidInput with `field`; RateLimitExceeded when too many passwords are being checked.
 */
export async function acceptPassword(
  caller: Caller & { config: Config },
  given: string,
  person: Person,
  field = 'password',
): Promise<string> {
  const password = given.normalize('NFC')
  const { config } = caller
  const minLength = config.PASSWORD_MIN_LENGTH
  if (Array.from(password).length < minLength) throw invalidInput(`${field}: must be at least ${minLength} characters long.`, field)
  if (Buffer.byteLength(password) > 72) throw invalidInput(`${field}: must be at most 72 bytes long.`, field)
  const own = [person.email, person.email.split('@', 1)[0] ?? '', person.displayName].map((name) => name.normalize('NFC'))
  if (own.some((name) => name.toLowerCase() === password.toLowerCase()))
    throw invalidInput(`${field}: must not be your e-mail address or name.`, field)
  const { common, score, advice } = await estimateStrength(caller, {
    password,
    known: [...own.flatMap(withParts), ...namesOf(config.SERVER_URL)],
  })
  if (common) throw invalidInput(`${field}: is one of the most common passwords. Choose another.`, field)
  if (score < 2) throw invalidInput(`${field}: is too easy to guess. ${advice}`.trim(), field)
  return password
}

/** Returns a name and its words, truncated to the maximum length of a password. */
const withParts = (name: string): string[] => [name, ...name.split(/[^\p{L}\p{N}]+/u)].map((word) => word.slice(0, 72)).filter(Boolean)

/** Returns the names of this server. */
const namesOf = (serverUrl: string): string[] => ['snug', ...withParts(new URL(serverUrl).hostname)]
