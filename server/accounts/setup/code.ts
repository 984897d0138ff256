import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../platform/db/base.ts'
import { othersSince } from '../../platform/db/open/servers.ts'
import { equalSecrets, hmac, type Keys, sha256, validKeys } from '../../platform/http/keys.ts'
import type { Services } from '../../services.ts'
import { SetupCode } from './entity.ts'

// Characters that are not easily confused. A code of 12 has 59 bits, which cannot be guessed with 5 attempts per 15 minutes and a new code after 20
// failures.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const letters = 12
const codeLifetimeMs = 24 * 3_600_000

/** Returns the current code, which is the newest; undefined without any. */
export const newestCode = (em: EntityManager): Promise<SetupCode | undefined> =>
  em.find(SetupCode, {}, { orderBy: { createdAt: 'desc', id: 'desc' }, limit: 1 }).then(([code]) => code)

/** Returns whether a setup code has expired. */
export const isExpired = ({ createdAt }: SetupCode, now: Date): boolean => createdAt.getTime() + codeLifetimeMs <= now.getTime()

/** Returns whether the entered text matches the code, ignoring case, dashes and spaces. */
export const fits = ({ hash }: SetupCode, entered: string): boolean => equalSecrets(sha256(normalize(entered)), hash)

/** Creates a new code, which replaces all earlier ones. Only its hash is stored. */
export function makeCode(em: EntityManager, keys: Keys, createdAt: Date): string {
  const id = newId()
  const code = codeOf(keys, id)
  em.create(SetupCode, { id, hash: sha256(normalize(code)), createdAt })
  return code
}

/**
 * Returns the setup code for a starting instance. Reuses the code that another running instance has announced, unless it was already entered, so
 * that the log of every instance shows a valid code. Otherwise creates a new one. Instances that start at the same time share one code.
 */
export async function codeForStart(
  em: EntityManager,
  { database, keys, now }: Pick<Services, 'database' | 'keys' | 'now'>,
): Promise<string> {
  if (database.backend === 'postgres') await em.execute('lock table setup_codes in share row exclusive mode')
  const [newest, since] = [await newestCode(em), await othersSince(em)]
  const isTheirs = newest && since !== null && newest.createdAt >= since && newest.verifiedAt === null && !isExpired(newest, now())
  // The code is derived from the secret keys. An instance with another JWT_SECRET would derive a different one.
  const code =
    isTheirs &&
    validKeys(keys)
      .map((valid) => codeOf(valid, newest.id))
      .find((one) => fits(newest, one))
  return code || makeCode(em, keys, now())
}

/** Derives the code with this id from the secret keys, so that all instances can compute it. */
function codeOf({ setup }: Pick<Keys, 'setup'>, id: string): string {
  let rest = BigInt(`0x${hmac(setup, id)}`)
  const code = Array.from({ length: letters }, () => {
    const letter = alphabet[Number(rest % BigInt(alphabet.length))]
    rest /= BigInt(alphabet.length)
    return letter
  })
  return code.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/** Normalizes a setup code: upper case, without dashes, spaces and other characters. */
const normalize = (code: string): string => code.toUpperCase().replace(/[^0-9A-Z]/g, '')
