import bcrypt from 'bcrypt'
import { invalidInput } from '../errors.ts'
import { takeTurns } from '../jobs/turns.ts'

/**
 * The password as it is hashed, when it keeps the rules (decisions §4): NFC-normalised, `minLength` characters or more, at most 72 bytes
 * (bcrypt reads no further), not among the most common ones, not the person's own e-mail address or name.
 * @throws ApiError InvalidInput with `field`.
 */
export async function acceptPassword(
  given: string,
  person: { email: string; displayName: string },
  minLength: number,
  field = 'password',
): Promise<string> {
  const password = given.normalize('NFC')
  if (Array.from(password).length < minLength) throw invalidInput(`${field}: must be at least ${minLength} characters long.`, field)
  if (Buffer.byteLength(password) > 72) throw invalidInput(`${field}: must be at most 72 bytes long.`, field)
  const folded = password.toLowerCase()
  if ((await commonPasswords()).has(folded)) throw invalidInput(`${field}: is one of the most common passwords. Choose another.`, field)
  const own = [person.email, person.email.split('@', 1)[0], person.displayName].map((name) => name?.normalize('NFC').toLowerCase())
  if (own.includes(folded)) throw invalidInput(`${field}: must not be your e-mail address or name.`, field)
  return password
}

/** Hashes a password that was accepted. */
export const hashPassword = (password: string, cost: number): Promise<string> => inTurn(() => bcrypt.hash(password, cost))

/**
 * Whether the password is the hashed one. Without a hash it takes the same time and says no, so that nobody can tell
 * who has an account.
 */
export async function verifyPassword(given: string, hash: string | null, cost: number): Promise<boolean> {
  const decoy = await decoyHash(cost)
  const password = given.normalize('NFC')
  const fits = await inTurn(() => bcrypt.compare(password, hash ?? decoy))
  return fits && hash !== null && Buffer.byteLength(password) <= 72
}

/** Whether a stored hash was made with another cost than is configured now. */
export const needsRehash = (hash: string, cost: number): boolean => bcrypt.getRounds(hash) !== cost

/** The 3,000 most common passwords, loaded when the first password is chosen. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return (common ??= new Set(dictionary['passwords-common'].slice(0, 3000).map(String)))
}
let common: Set<string> | undefined

const decoys = new Map<number, Promise<string>>()

function decoyHash(cost: number): Promise<string> {
  const existing = decoys.get(cost)
  if (existing) return existing
  const made = inTurn(() => bcrypt.hash('nobody has this password', cost))
  decoys.set(cost, made)
  return made
}

// Two at a time: more would take every thread of the pool from files and DNS, and every core from other requests.
const inTurn = takeTurns(2)
