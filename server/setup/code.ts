import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../db/base.ts'
import { othersSince } from '../db/open/others.ts'
import { equalSecrets, hmac, type Keys, sha256, validKeys } from '../http/keys.ts'
import type { Services } from '../services.ts'
import { SetupCode } from './entity.ts'

// Letters and digits that nobody confuses. Twelve of them are 59 bits: with five tries in 15 minutes and a new code after 20 failures, nobody guesses that.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const letters = 12
const codeLifetimeMs = 24 * 3_600_000

/** The code that counts; undefined when there is none. */
export const newestCode = (em: EntityManager): Promise<SetupCode | undefined> =>
  em.find(SetupCode, {}, { orderBy: { createdAt: 'desc', id: 'desc' }, limit: 1 }).then(([code]) => code)

/** Whether the code is too old to be entered. */
export const isExpired = ({ createdAt }: SetupCode, now: Date): boolean => createdAt.getTime() + codeLifetimeMs <= now.getTime()

/** Whether somebody entered this code, however it is written. */
export const fits = ({ hash }: SetupCode, entered: string): boolean => equalSecrets(sha256(normalize(entered)), hash)

/** Adds a fresh code, which replaces all before it. Only its hash is stored. */
export function makeCode(em: EntityManager, keys: Keys, createdAt: Date): string {
  const id = newId()
  const code = codeOf(keys, id)
  em.create(SetupCode, { id, hash: sha256(normalize(code)), createdAt })
  return code
}

/**
 * The code for an instance that starts: a fresh one, unless another instance that still runs has printed one that nobody has entered yet. Then it
 * is that one, so that whichever instance's log somebody reads, the code works. Of instances that start at once, one makes it.
 */
export async function codeForStart(
  em: EntityManager,
  { database, keys, now }: Pick<Services, 'database' | 'keys' | 'now'>,
): Promise<string> {
  if (database.backend === 'postgres') await em.execute('lock table setup_codes in share row exclusive mode')
  const [newest, since] = [await newestCode(em), await othersSince(em)]
  const isTheirs = newest && since !== null && newest.createdAt >= since && newest.verifiedAt === null && !isExpired(newest, now())
  // Under another JWT_SECRET than theirs the code would differ.
  const code =
    isTheirs &&
    validKeys(keys)
      .map((valid) => codeOf(valid, newest.id))
      .find((one) => fits(newest, one))
  return code || makeCode(em, keys, now())
}

/** The code with this id: all instances can tell it, and nobody without their secret. */
function codeOf({ setup }: Pick<Keys, 'setup'>, id: string): string {
  let rest = BigInt(`0x${hmac(setup, id)}`)
  const code = Array.from({ length: letters }, () => {
    const letter = alphabet[Number(rest % BigInt(alphabet.length))]
    rest /= BigInt(alphabet.length)
    return letter
  })
  return code.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/** Upper case, without the dashes and spaces that people add. */
const normalize = (code: string): string => code.toUpperCase().replace(/[^0-9A-Z]/g, '')
