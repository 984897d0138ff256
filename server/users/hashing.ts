import { channel } from 'node:diagnostics_channel'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/open/orm.ts'
import type { Task } from './hashing-worker.ts'
import { passwordThreads } from './password-threads.ts'
import { type Caller, passwordTurns } from './password-turns.ts'

/** For whom a password is hashed. */
export type Hasher = Caller & { config: Pick<Config, 'BCRYPT_COST'> }

// Two at a time, or one where there are no more than two cores: more would take every core from other requests. The ten sign-ins that an
// address may send in a quarter of an hour may arrive at once.
const atOnce = availableParallelism() > 2 ? 2 : 1
const turns = passwordTurns({ atOnce, waitingPerKey: 10 - atOnce })

// Threads of our own, because those of libuv's pool have the priority of requests. The deadline is far above what the highest cost takes on a
// busy machine.
const ask = passwordThreads(new URL('./hashing-worker.ts', import.meta.url), { deadlineMs: 120_000, maxHeapMb: 64 })

/**
 * Hashes a password that was accepted.
 * @throws ApiError RateLimitExceeded when too much is waiting to be hashed, ServiceUnavailable when the hashing fails.
 */
export const hashPassword = (hasher: Hasher, password: string): Promise<string> =>
  turns.run(hasher, () => hash(password, hasher.config.BCRYPT_COST))

/** @throws ApiError RateLimitExceeded when a password of this caller would be refused now, because too many wait to be hashed. */
export const requireHashingPlace = (caller: Caller): void => turns.requirePlace(caller)

/**
 * Whether the password is the hashed one. Every "no" costs the same work, without a hash and whatever the cost of the stored one, so that
 * nobody can tell from the time who has an account.
 * @throws ApiError RateLimitExceeded when too much is waiting to be hashed, ServiceUnavailable when the hashing fails.
 */
export async function verifyPassword(hasher: Hasher & { database: Database }, given: string, stored: string | null): Promise<boolean> {
  const ceiling = Math.max(hasher.config.BCRYPT_COST, await highestCost(hasher.database))
  return turns.run(hasher, () => compareAlike(given.normalize('NFC'), stored, ceiling))
}

/** Whether a stored hash was made with another cost than is configured now. */
export const needsRehash = (stored: string, cost: number): boolean => costOf(stored) !== cost

/** Each step of cost doubles the work: after a compare at cost 10, decoys at 10 and 11 make it as much as one at 12. */
async function compareAlike(password: string, stored: string | null, ceiling: number): Promise<boolean> {
  const fits = await compare(password, stored ?? decoy(ceiling))
  // bcrypt reads no more than 72 bytes: a longer password would fit by its beginning.
  if (fits && stored !== null && Buffer.byteLength(password) <= 72) return true
  for (let cost = stored === null ? ceiling : costOf(stored); cost < ceiling; cost++) await compare(password, decoy(cost))
  return false
}

/** A well-formed hash of this cost that was made of nothing. */
const decoy = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'nobody'.repeat(9).slice(0, 53)}`

/** Hears of every hash that is computed, with its cost. */
const hashed = channel('snug:password-hash')

async function hash(password: string, cost: number): Promise<string> {
  hashed.publish({ cost })
  return z.string().parse(await ask({ password, cost } satisfies Task))
}

async function compare(password: string, stored: string): Promise<boolean> {
  hashed.publish({ cost: costOf(stored) })
  return z.boolean().parse(await ask({ password, stored } satisfies Task))
}

/** The cost in a hash: `$2b$12$…`. */
const costOf = (stored: string): number => Number(stored.slice(4, 6))

const lookAgainMs = 10 * 60_000
type Highest = { cost: number; readAt: number }
const highest = new WeakMap<Database, Highest>()

/** The highest cost among the stored hashes. It changes only with the configuration, so it is read every ten minutes. */
async function highestCost(database: Database): Promise<number> {
  const known = highest.get(database)
  if (known && performance.now() - known.readAt < lookAgainMs) return known.cost
  const row = await database.reads.get<{ cost: string | null }>(
    'select max(substr(password_hash, 5, 2)) as cost from users where password_hash is not null',
  )
  const found = { cost: Number(row?.cost ?? 0), readAt: performance.now() }
  highest.set(database, found)
  return found.cost
}
