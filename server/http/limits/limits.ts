import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { rateLimited } from '../../errors.ts'
import { takeFairTurns } from '../../threads/fair-turns.ts'
import { limitStore, type Store } from './limit-store.ts'

/** Where several instances share their buckets. */
const tableName = 'rate_limits'

const minutes = (count: number) => count * 60

/**
 * Every rate limit: how many `points` in how many seconds, and of whom. SIGN_IN_LIMIT replaces the first four's points. What one may have at once is
 * bounded elsewhere: connections (address-cap.ts), uploads (uploads/), the work of a request (access/budget.ts).
 */
const limits = {
  // of an address
  login: { points: 10, duration: minutes(15) },
  signup: { points: 10, duration: minutes(15) },
  inviteInspect: { points: 10, duration: minutes(15) },
  inviteAccept: { points: 10, duration: minutes(15) },
  setupVerify: { points: 5, duration: minutes(15) },
  setupComplete: { points: 5, duration: minutes(15) },
  oauth: { points: 30, duration: minutes(15) },
  tokenRevocation: { points: 300, duration: minutes(15) },
  // of an account that somebody signs in to: strangers together, each known device and address range
  loginFailures: { points: 50, duration: minutes(60) },
  // of an account
  wrongPassword: { points: 5, duration: minutes(15) },
  domainVerification: { points: 30, duration: minutes(15) },
  emailLookup: { points: 20, duration: minutes(60) },
  // of an account, or of an address without one
  graphql: { points: 600, duration: minutes(1) },
} as const
export type LimitName = keyof typeof limits

const signInLimits = ['login', 'signup', 'inviteInspect', 'inviteAccept'] as const satisfies LimitName[]

/** How full a bucket is: its points, those that are left, and when all of them are back. */
export type Bucket = { limit: number; remaining: number; resetAt: Date }

export type Limits = {
  /** Counts one use, and gives what is left; throws RateLimitExceeded when the bucket is full. */
  use(name: LimitName, key: string): Promise<Bucket>
  /** Takes one use back: for work that turned out not to count. */
  giveBack(name: LimitName, key: string): Promise<void>
  /** Removes expired buckets from the database. */
  collect(): Promise<void>
}

/** Opens the buckets: in memory, or in the database when several instances share one PostgreSQL. */
export function openLimits({ SIGN_IN_LIMIT: points }: { SIGN_IN_LIMIT: number }, now: () => Date, store?: Store): Limits {
  const perAddress = Object.fromEntries(signInLimits.map((name) => [name, { ...limits[name], points }]))
  const all = Object.entries({ ...limits, ...perAddress })
  const shared = store && limitStore(store, now)
  // Uses of one bucket wait for its row: without turns, a hundred at once would hold every connection meanwhile.
  const inTurn = shared ? takeFairTurns({ atOnce: 2, waiting: 5000, waitingPerKey: 1000 }) : direct
  const limiters = Object.fromEntries(all.map(([name, limit]) => [name, limiter(name, limit, shared)])) as Record<
    LimitName,
    RateLimiterAbstract
  >
  return {
    use: (name, key) =>
      inTurn(`${name} ${key}`, () => limiters[name].consume(key).then((state) => bucketOf(limiters[name].points, state), refuse)),
    giveBack: async (name, key) => void (await limiters[name].reward(key)),
    collect: async () => void (await shared?.query({ text: `DELETE FROM ${tableName} WHERE expire < $1`, values: [Date.now()] })),
  }
}

const direct = <Value>(_key: string, work: () => Promise<Value>): Promise<Value> => work()

/**
 * Counts a try that only matters when it fails: it takes its place before it is judged, so that a hundred at once are no more than the limit
 * allows, and gives it back unless it failed.
 * @throws ApiError RateLimitExceeded when the bucket is full; what `judge` throws, which does not count.
 */
export async function countFailures<Verdict>(
  { use, giveBack }: Limits,
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
    if (!counts) await giveBack(name, key)
  }
}

/** What an address is counted under: itself, or its /64 for IPv6, which one person has whole. */
export const addressKey = (ip: string): string => network(ip, { ipv4: 4, ipv6: 8 })

/**
 * What callers take turns by: an IPv4 address, or an IPv6 /48. Providers assign a /48 to one customer, who can send each request from another
 * of its 65,536 /64 networks.
 */
export const turnKey = (ip: string): string => network(ip, { ipv4: 4, ipv6: 6 })

/** The neighbourhood of an address, within which a provider moves a customer: its /24, or its /48 for IPv6. */
export const addressRange = (ip: string): string => network(ip, { ipv4: 3, ipv6: 6 })

/** The first bytes of an address. An IPv4 address that is written as IPv6 is an IPv4 address. */
function network(ip: string, bytes: { ipv4: number; ipv6: number }): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  const first = address.toByteArray().slice(0, bytes[address.kind()])
  return address.kind() === 'ipv4' ? first.join('.') : Buffer.from(first).toString('hex')
}

function limiter(keyPrefix: string, limit: { points: number; duration: number }, storeClient?: Store): RateLimiterAbstract {
  if (!storeClient) return new RateLimiterMemory({ keyPrefix, ...limit })
  const table = { storeClient, storeType: 'pool', tableName, tableCreated: true }
  // Its own timer would go on after the server has closed, with a query for each limit.
  return new RateLimiterPostgres({ keyPrefix, ...limit, ...table, clearExpiredByTimeout: false })
}

const bucketOf = (limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes): Bucket => ({
  limit,
  remaining: remainingPoints,
  resetAt: new Date(Date.now() + msBeforeNext),
})

function refuse(state: unknown): never {
  if (state instanceof RateLimiterRes) throw rateLimited(Math.max(1, Math.ceil(state.msBeforeNext / 1000)))
  throw state
}
