import { insufficientPermissions, invalidInput, missingAuthentication } from '../../errors.ts'
import { type Caller, passwordThreads, passwordTurns, type PasswordTurns } from './password-threads.ts'
import { randomInt } from 'node:crypto'
import { z } from 'zod'
import type { Question } from './strength-worker.ts'
import { countFailures } from '../../platform/http/limits.ts'
import { User } from './entity.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { verifyPassword } from './hashing.ts'

type Person = { email: string; displayName: string }

/**
 * Validates a new password and returns it in NFC form, ready to be hashed. It must have at least PASSWORD_MIN_LENGTH characters and at most 72 bytes
 * (the limit of bcrypt), and must not be the user's e-mail address or name, a common password, or guessable within minutes by the estimate of
 * zxcvbn, which takes the names of the user and the server into account.
 * @throws ApiError InvalidInput with `field`; RateLimitExceeded when too many passwords are being checked.
 */
export async function acceptPassword(
  caller: Caller & Pick<Context, 'config' | 'state'>,
  given: string,
  person: Person,
  field = 'password',
) {
  const password = given.normalize('NFC')
  const { config } = caller
  const minLength = config.PASSWORD_MIN_LENGTH
  if (Array.from(password).length < minLength) throw invalidInput(`${field}: must be at least ${minLength} characters long.`, field)
  if (Buffer.byteLength(password) > 72) throw invalidInput(`${field}: must be at most 72 bytes long.`, field)
  const own = [person.email, person.email.split('@', 1)[0] ?? '', person.displayName].map((name) => name.normalize('NFC'))
  if (own.some((name) => name.toLowerCase() === password.toLowerCase()))
    throw invalidInput(`${field}: must not be your e-mail address or name.`, field)
  const known = [...own.flatMap(withParts), ...namesOf(config.SERVER_URL)]
  const { common, score, advice } = await estimateStrength(caller, { password, known })
  if (common) throw invalidInput(`${field}: is one of the most common passwords. Choose another.`, field)
  if (score < 2) throw invalidInput(`${field}: is too easy to guess. ${advice}`.trim(), field)
  return password
}

/** Rejects new passwords for accounts that could not sign in with them. @throws ApiError InsufficientPermissions with PASSWORD_SIGN_IN=owner. */
export function requirePasswordSignIn({ config }: Pick<Context, 'config'>): void {
  if (config.PASSWORD_SIGN_IN === 'owner')
    throw insufficientPermissions('Only the owner of this server signs in with a password. Everyone else signs in through a provider.')
}

/** Returns a name and its words, truncated to the maximum length of a password. */
const withParts = (name: string): string[] => [name, ...name.split(/[^\p{L}\p{N}]+/u)].map((word) => word.slice(0, 72)).filter(Boolean)

/** Returns the names of this server. */
const namesOf = (serverUrl: string): string[] => ['snug', ...withParts(new URL(serverUrl).hostname)]

// Letters and digits that are not easily confused: without 0, O, o, 1, I and l.
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz'
const length = 16

/** Generates a one-time password of 16 characters, about 92 bits. `randomInt` has a uniform distribution. */
export const generatePassword = (): string => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

const estimate = z.object({
  /** Whether the password is among the 3,000 most common ones. */
  common: z.boolean(),
  /** Strength from 0 (guessed immediately) to 4 (very hard to guess). */
  score: z.number(),
  /** Problems of the password and suggestions, as sentences; empty for a good password. */
  advice: z.string(),
})

// One thread. Callers take turns, as for hashing.
const turnsOf = ({ state }: Pick<Context, 'state'>) => (state.strengthTurns ??= passwordTurns({ atOnce: 1, waitingPerKey: 8 }))

declare module '../../services.ts' {
  interface State {
    strengthTurns?: PasswordTurns
  }
}

// The thread with its dictionaries uses 90 MB. The deadline is far above the time for the slowest password on a busy machine.
const ask = passwordThreads(new URL('./strength-worker.ts', import.meta.url), { deadlineMs: 30_000, maxHeapMb: 256 })

/**
 * Estimates how easy a password is to guess.
 * @throws ApiError RateLimitExceeded when the queue is full; ServiceUnavailable when the thread misses the deadline.
 */
export const estimateStrength = (caller: Caller & Pick<Context, 'state'>, question: Question) =>
  turnsOf(caller).run(caller, async () => estimate.parse(await ask(question)))

/**
 * Verifies the caller's password.
 * @returns the hash that was verified. A change based on the result must check that the account still has this hash.
 * @throws ApiError InvalidInput for a wrong password; RateLimitExceeded after five wrong ones; MissingAuthentication when the account was disabled
 * or deleted concurrently.
 */
export async function provePassword(context: SignedInContext, password: string): Promise<string> {
  const { em, viewer, limits } = context
  const user = await em.findOne(User, { id: viewer.id, isActive: true }, { populate: ['passwordHash'], refresh: true })
  if (!user) throw missingAuthentication('Your account was disabled or deleted.')
  const stored = user.passwordHash ?? null
  const judge = () => verifyPassword(context, password, stored)
  const fits = await countFailures(limits, 'wrongPassword', viewer.id, judge, (right) => !right)
  if (!fits || !stored) throw invalidInput('currentPassword: is wrong.', 'currentPassword')
  return stored
}
