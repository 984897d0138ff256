import { channel } from 'node:diagnostics_channel'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { Config } from '../../platform/config/config.ts'
import { db } from '../../platform/db/query.ts'
import type { Services } from '../../services.ts'
import type { Task } from './hashing-worker.ts'
import { type Caller, passwordThreads, passwordTurns, type PasswordTurns } from './password-threads.ts'

declare module '../../services.ts' {
  interface State {
    /** The highest cost of the stored password hashes, and when it was read. */
    highestCost?: { cost: number; readAt: number }
    hashingTurns?: PasswordTurns
  }
}

/** The caller for whom a password is hashed, and the configured cost. */
export type Hasher = Caller & { config: Pick<Config, 'BCRYPT_COST'> } & Pick<Services, 'state'>

// Two concurrent hashes, or one on machines with up to two cores, so that other requests keep a core. Each key may queue ten in total, the number of
// sign-ins that one address may send in 15 minutes.
const atOnce = availableParallelism() > 2 ? 2 : 1
const turnsOf = ({ state }: Pick<Services, 'state'>) => (state.hashingTurns ??= passwordTurns({ atOnce, waitingPerKey: 10 - atOnce }))

// Uses its own threads, because libuv's pool runs at the priority of requests. The deadline is far above the time for the highest cost on a busy
// machine.
const ask = passwordThreads(new URL('./hashing-worker.ts', import.meta.url), { deadlineMs: 120_000, maxHeapMb: 64 })

/**
 * Hashes an accepted password.
 * @throws ApiError RateLimitExceeded when the queue is full; ServiceUnavailable when hashing fails.
 */
export const hashPassword = (hasher: Hasher, password: string): Promise<string> =>
  turnsOf(hasher).run(hasher, () => hash(password, hasher.config.BCRYPT_COST))

/** @throws ApiError RateLimitExceeded when the queue has no place for this caller. */
export const requireHashingPlace = (hasher: Hasher): void => turnsOf(hasher).requirePlace(hasher)

/**
 * Returns whether the password matches the stored hash. Every negative result costs the same work, even without a hash or for a hash of another
 * cost, so that the timing does not reveal which accounts exist.
 * @throws ApiError RateLimitExceeded when the queue is full; ServiceUnavailable when hashing fails.
 */
export async function verifyPassword(hasher: Hasher & Pick<Services, 'database'>, given: string, stored: string | null): Promise<boolean> {
  const ceiling = Math.max(hasher.config.BCRYPT_COST, await highestCost(hasher))
  return turnsOf(hasher).run(hasher, () => compareAlike(given.normalize('NFC'), stored, ceiling))
}

/** Returns whether a stored hash has another cost than the configured one. */
export const needsRehash = (stored: string, cost: number): boolean => costOf(stored) !== cost

/** Compares in constant work. Each step of cost doubles the work: a compare at cost 10 plus decoys at 10 and 11 equals one at 12. */
async function compareAlike(password: string, stored: string | null, ceiling: number): Promise<boolean> {
  const fits = await compare(password, stored ?? decoy(ceiling))
  // bcrypt ignores everything after 72 bytes, so a longer password would match by its first 72.
  if (fits && stored !== null && Buffer.byteLength(password) <= 72) return true
  for (let cost = stored === null ? ceiling : costOf(stored); cost < ceiling; cost++) await compare(password, decoy(cost))
  return false
}

/** Returns a well-formed hash of this cost that no password matches. */
const decoy = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'absent'.repeat(9).slice(0, 53)}`

/** Diagnostics channel that publishes the cost of each computed hash. */
const hashed = channel('snug:password-hash')

async function hash(password: string, cost: number): Promise<string> {
  hashed.publish({ cost })
  return z.string().parse(await ask({ password, cost } satisfies Task))
}

async function compare(password: string, stored: string): Promise<boolean> {
  hashed.publish({ cost: costOf(stored) })
  return z.boolean().parse(await ask({ password, stored } satisfies Task))
}

/** Returns the bcrypt cost of a hash: the number in `$2b$12$…`. */
const costOf = (stored: string): number => Number(stored.slice(4, 6))

const lookAgainMs = 10 * 60_000

/** Returns the highest cost of the stored hashes, cached for ten minutes. It changes only with the configuration. */
async function highestCost({ database, state }: Pick<Services, 'database' | 'state'>): Promise<number> {
  const known = state.highestCost
  if (known && performance.now() - known.readAt < lookAgainMs) return known.cost
  const row = await database.reads.get(
    db
      .selectFrom('users')
      .select(({ fn, lit }) => fn<string | null>('max', [fn('substr', ['password_hash', lit(5), lit(2)])]).as('cost'))
      .where('password_hash', 'is not', null),
  )
  const cost = Number(row?.cost ?? 0)
  state.highestCost = { cost, readAt: performance.now() }
  return cost
}
