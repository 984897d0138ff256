import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { QueryConfig, QueryResult } from 'pg'
import { rateLimited } from '../../errors.ts'
import { compile, db } from '../db/query.ts'
import { numbered } from '../db/statements.ts'
import { createFairLimiter } from '../threads/fair-limiter.ts'

/** Table of the buckets that several instances share. */
const tableName = 'rate_limits'

declare module '../db/query.ts' {
  interface Tables {
    /** Exists on PostgreSQL only. */
    rate_limits: { key: string; points: number; expire: number | null }
  }
}

const minutes = (count: number) => count * 60

/**
 * All rate limits: `points` per `duration` in seconds. SIGN_IN_LIMIT replaces the points of the first four. Concurrency is limited elsewhere:
 * connections (connections/limits.ts), uploads (uploads/), work per request (access/budget.ts).
 */
const limits = {
  // per client address
  login: { points: 10, duration: minutes(15) },
  signup: { points: 10, duration: minutes(15) },
  inviteInspect: { points: 10, duration: minutes(15) },
  inviteAccept: { points: 10, duration: minutes(15) },
  setupVerify: { points: 5, duration: minutes(15) },
  setupComplete: { points: 5, duration: minutes(15) },
  oauth: { points: 30, duration: minutes(15) },
  devicePoll: { points: 1200, duration: minutes(15) },
  // each view of the sign-in page, and each start of a sign-in through a provider; many people can share an address
  passkeyOptions: { points: 600, duration: minutes(15) },
  oidc: { points: 600, duration: minutes(15) },
  jobToken: { points: 300, duration: minutes(15) },
  tokenRevocation: { points: 300, duration: minutes(15) },
  // per account to sign in to: one bucket for each known device, one for known address ranges, and one for all other clients
  loginFailures: { points: 50, duration: minutes(60) },
  wrongCode: { points: 10, duration: minutes(60) },
  // per account
  wrongPassword: { points: 5, duration: minutes(15) },
  domainVerification: { points: 30, duration: minutes(15) },
  emailLookup: { points: 20, duration: minutes(60) },
  // per account and per client address: wrong codes of devices
  userCode: { points: 20, duration: minutes(15) },
  // per account, or per client address if not signed in
  graphql: { points: 600, duration: minutes(1) },
  imageFetch: { points: 300, duration: minutes(1) },
  // requests to the upstream server per account, per network of a stranger, and for all strangers; and those of them for names that it does not have
  mirrorFetch: { points: 3000, duration: minutes(1) },
  mirrorFetchAddress: { points: 1500, duration: minutes(1) },
  mirrorFetchOpen: { points: 6000, duration: minutes(1) },
  mirrorUnknown: { points: 40, duration: minutes(1) },
  mirrorUnknownAddress: { points: 20, duration: minutes(1) },
  mirrorUnknownOpen: { points: 80, duration: minutes(1) },
} as const
export type LimitName = keyof typeof limits

const signInLimits = ['login', 'signup', 'inviteInspect', 'inviteAccept'] as const satisfies LimitName[]

/** State of a bucket: its size, the remaining points, and the time when it is full again. */
export type Bucket = { limit: number; remaining: number; resetAt: Date }

export type Limits = {
  /** Consumes one point. Throws RateLimitExceeded if none is left. */
  use(name: LimitName, key: string): Promise<Bucket>
  /** Returns one point, for a request that turned out not to count. */
  refund(name: LimitName, key: string): Promise<void>
  /** Removes expired buckets from the database. */
  collect(): Promise<void>
}

/** Opens the buckets, in memory, or in the database if several instances share PostgreSQL. */
export function openLimits({ SIGN_IN_LIMIT: points }: { SIGN_IN_LIMIT: number }, now: () => Date, store?: Store): Limits {
  const perAddress = Object.fromEntries(signInLimits.map((name) => [name, { ...limits[name], points }]))
  const all = Object.entries({ ...limits, ...perAddress })
  const shared = store && limitStore(store, now)
  // Requests of one bucket wait for its row lock. Without this limit, a hundred concurrent ones would occupy all database connections.
  const inTurn = shared ? createFairLimiter({ atOnce: 2, waiting: 5000, waitingPerKey: 1000 }) : direct
  const limiters = Object.fromEntries(all.map(([name, limit]) => [name, limiter(name, limit, shared)])) as Record<
    LimitName,
    RateLimiterAbstract
  >
  return {
    use: (name, key) =>
      inTurn(`${name} ${key}`, () => limiters[name].consume(key).then((state) => bucketOf(limiters[name].points, state), throwRateLimited)),
    refund: async (name, key) => void (await limiters[name].reward(key)),
    collect: async () => {
      const { sql, values } = compile(db.deleteFrom(tableName).where('expire', '<', Date.now()))
      await shared?.query({ text: numbered(sql), values: [...values] })
    },
  }
}

const direct = <Value>(_key: string, work: () => Promise<Value>): Promise<Value> => work()

/**
 * Counts only failed attempts. Consumes a point before the attempt, so that concurrent ones cannot exceed the limit, and returns it unless it failed.
 * @throws ApiError RateLimitExceeded if no point is left; errors of `judge`, which do not count.
 */
export async function countFailures<Verdict>(
  { use, refund }: Limits,
  name: LimitName,
  key: string,
  judge: () => Promise<Verdict>,
  failed: (verdict: Verdict) => boolean,
): Promise<Verdict> {
  let counts = false
  try {
    await use(name, key)
    const verdict = await judge()
    counts = failed(verdict)
    return verdict
  } finally {
    if (!counts) await refund(name, key)
  }
}

/** Returns the rate limit key of an address: the address itself, or its /64 for IPv6, because one host usually has a whole /64. */
export const addressKey = (ip: string): string => network(ip, { ipv4: 4, ipv6: 8 })

/** Returns the fair queueing key of a caller: the user, or the network of an anonymous caller. */
export const turnOf = ({ viewer, ip }: { viewer: { id: string } | null; ip: string }): string => viewer?.id ?? fairQueueKey(ip)

/** Returns the fair queueing key of an address: IPv4, or the IPv6 /48, which providers assign to one customer. */
export const fairQueueKey = (ip: string): string => network(ip, { ipv4: 4, ipv6: 6 })

/** Returns the range within which a provider typically reassigns a customer's address: its /24, or its /48 for IPv6. */
export const addressRange = (ip: string): string => network(ip, { ipv4: 3, ipv6: 6 })

/** Returns keys for the networks of an address, the narrowest first: for IPv4 the address, its /24 and its /16; for IPv6 its /48, /40 and /32. */
export const networkKeys = (ip: string): string[] => [
  fairQueueKey(ip),
  network(ip, { ipv4: 3, ipv6: 5 }),
  network(ip, { ipv4: 2, ipv6: 4 }),
]

/** Returns the first bytes of an address as a key. IPv4-mapped IPv6 addresses are treated as IPv4. */
function network(ip: string, bytes: { ipv4: number; ipv6: number }): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  const first = address.toByteArray().slice(0, bytes[address.kind()])
  return address.kind() === 'ipv4' ? first.join('.') : Buffer.from(first).toString('hex')
}

function limiter(keyPrefix: string, limit: { points: number; duration: number }, storeClient?: Store): RateLimiterAbstract {
  if (!storeClient) return new RateLimiterMemory({ keyPrefix, ...limit })
  const table = { storeClient, storeType: 'pool', tableName, tableCreated: true }
  // The library's cleanup timer would run one query per limit, also after the server has closed. See `collect`.
  return new RateLimiterPostgres({ keyPrefix, ...limit, ...table, clearExpiredByTimeout: false })
}

const bucketOf = (limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes): Bucket => ({
  limit,
  remaining: remainingPoints,
  resetAt: new Date(Date.now() + msBeforeNext),
})

function throwRateLimited(state: unknown): never {
  if (state instanceof RateLimiterRes) throw rateLimited(Math.max(1, Math.ceil(state.msBeforeNext / 1000)))
  throw state
}

/** Executes statements on PostgreSQL. */
type Store = { query(statement: QueryConfig<unknown[]>): Promise<QueryResult<Record<string, unknown>>> }

/**
 * Adapts the rate limit table to a clock shared by all instances: rate-limiter-flexible uses the clock of its machine, so timestamps are converted in
 * parameters and results.
 */
function limitStore(store: Store, now: () => Date): Store {
  return {
    async query({ values = [], ...statement }) {
      const ahead = now().getTime() - Date.now()
      const result = await store.query({ ...statement, values: values.map((value) => (isMoment(value) ? value + ahead : value)) })
      // The driver returns 64-bit integers as strings.
      for (const row of result.rows) if (row.expire != null) row.expire = Number(row.expire) - ahead
      return result
    },
  }
}

/** Distinguishes timestamps in milliseconds from the other numeric parameters, which are points. */
const isMoment = (value: unknown): value is number => typeof value === 'number' && value > 1e11
