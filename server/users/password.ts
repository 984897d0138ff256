import type { Config } from '../config/config.ts'
import { invalidInput } from '../errors.ts'
import type { Caller } from './password-turns.ts'
import { estimateStrength } from './strength.ts'

type Person = { email: string; displayName: string }

/**
 * The password as it is hashed, when it keeps the rules: NFC-normalised, PASSWORD_MIN_LENGTH characters or more, at most 72 bytes (bcrypt
 * reads no further), not the person's own e-mail address or name, not among the most common ones, and not guessable in minutes by zxcvbn's
 * estimate, which knows the person and the server.
 * @throws ApiError InvalidInput with `field`; RateLimitExceeded when too many are being checked.
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

/** A name and its words: longer ones than these are of no use to anybody who guesses. */
const withParts = (name: string): string[] => [name, ...name.split(/[^\p{L}\p{N}]+/u)].map((word) => word.slice(0, 72)).filter(Boolean)

/** What this server is called. */
const namesOf = (serverUrl: string): string[] => ['snug', ...withParts(new URL(serverUrl).hostname)]
