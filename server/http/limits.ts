import { isIPv6 } from 'node:net'
import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { rateLimited } from '../errors.ts'

const minutes = (count: number) => count * 60

/** Every limit: how many `points` in how many seconds (interface §8, decisions §7). */
export const limits = {
  login: { points: 10, duration: minutes(15) },
  signup: { points: 10, duration: minutes(15) },
  invite: { points: 10, duration: minutes(15) },
  setupVerify: { points: 5, duration: minutes(15) },
  setupComplete: { points: 5, duration: minutes(15) },
  loginFailures: { points: 50, duration: minutes(60) },
  wrongPassword: { points: 5, duration: minutes(15) },
  oauth: { points: 30, duration: minutes(15) },
  domainVerification: { points: 30, duration: minutes(15) },
  tokenRevocation: { points: 300, duration: minutes(15) },
  emailLookup: { points: 20, duration: minutes(60) },
  graphql: { points: 600, duration: minutes(1) },
} as const
export type LimitName = keyof typeof limits

export type Limits = {
  /** Counts one use; throws RateLimitExceeded when the bucket is full. */
  use(name: LimitName, key: string): Promise<void>
  /** Throws when the bucket is full, without counting. */
  check(name: LimitName, key: string): Promise<void>
  /** Takes one use back: for work that turned out not to count. */
  giveBack(name: LimitName, key: string): Promise<void>
}

/** Opens the buckets: in memory, or in the database when several instances share one PostgreSQL. */
export function openLimits(pool?: Pool): Limits {
  const limiters = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limiter(name, limit, pool)])) as Record<
    LimitName,
    RateLimiterAbstract
  >
  return {
    use: (name, key) => limiters[name].consume(key).then(() => {}, refuse),
    async check(name, key) {
      const state = await limiters[name].get(key)
      if (state && state.remainingPoints <= 0) refuse(state)
    },
    giveBack: async (name, key) => void (await limiters[name].reward(key)),
  }
}

/** What an address is counted under: itself, or its /64 for IPv6, which one person has whole. */
export function addressKey(ip: string): string {
  if (!isIPv6(ip)) return ip
  if (ip.startsWith('::ffff:') && ip.includes('.')) return ip.slice(7)
  const [head = '', tail] = ip.split('::')
  const groups = head.split(':').filter(Boolean)
  const missing = 8 - groups.length - (tail?.split(':').filter(Boolean).length ?? 0)
  return [...groups, ...Array<string>(tail === undefined ? 0 : missing).fill('0'), ...(tail?.split(':').filter(Boolean) ?? [])]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

function limiter(keyPrefix: string, limit: { points: number; duration: number }, pool?: Pool): RateLimiterAbstract {
  if (!pool) return new RateLimiterMemory({ keyPrefix, ...limit })
  return new RateLimiterPostgres({ keyPrefix, ...limit, storeClient: pool, tableName: 'rate_limits', tableCreated: true })
}

function refuse(state: unknown): never {
  if (state instanceof RateLimiterRes) throw rateLimited(Math.max(1, Math.ceil(state.msBeforeNext / 1000)))
  throw state
}
