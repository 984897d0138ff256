import { rateLimited } from '../../errors.ts'

type Bounds = {
  waiting: number
  /** Maximum number of waiting calls per key. */
  waitingPerKey: number
}
type LimiterOptions = Bounds & {
  atOnce: number
  /** Maximum number of waiting calls in the reserved lane, in addition to `waiting`. */
  reserved?: number
  /** Whether calls from sources with fewer recent calls take precedence when a lane is full, so that a flood from many keys cannot hold all places. */
  newcomersFirst?: boolean
  /** Maximum wait in milliseconds. Calls that wait longer are rejected. */
  maxWaitMs?: number
  /** Shares the running calls, too. Without it, one key may have all of them. */
  sharing?: Sharing
  /** Creates the error for rejected calls. `seconds` estimates the time until the queue is empty. */
  rejection?: (seconds: number) => Error
}
type Caller = { key: string; sources: readonly string[] }
type Waiting = Caller & { start: () => void; fail: () => void }
type IsFree = (key: string) => boolean

/**
 * How running calls are shared: a key gets another place only if more places are free than it has, so that one key has at most half of them.
 * `firsts`: additional places for keys without running calls. The keys of a group together share `groupPlaces` in the same way.
 */
type Sharing = { firsts: number; groupPlaces: number; isInGroup: (key: string) => boolean }

/** The reserved lane is for trusted callers. Calls in the open lane cannot use its places. */
type Lane = 'open' | 'reserved'
/** `sources` describe the caller more broadly and more precisely than its key, such as its networks and its account. Only for `newcomersFirst`. */
type Place = { lane?: Lane; sources?: readonly string[] }

export type FairLimiter = ReturnType<typeof createFairLimiter>

/**
 * Returns a limiter that runs at most `atOnce` calls concurrently. The next call is taken from the key, such as the caller's network, with the fewest
 * running calls; equal keys take turns, and so do the open and the reserved lane. In a full lane, a new call replaces the newest call of the key with
 * the most waiting calls if its own key has fewer; with `newcomersFirst`, a call whose sources had the most recent calls, chosen at random among
 * equals, unless its own had more. Otherwise, it is rejected. @throws the error of `rejection`, by default ApiError RateLimitExceeded.
 */
export function createFairLimiter(options: LimiterOptions) {
  const { atOnce, reserved = 0, newcomersFirst = false, sharing, maxWaitMs, rejection = rateLimited, ...bounds } = options
  const lanes = openLanes(bounds, reserved, newcomersFirst ? countRecentCalls() : undefined)
  const places = openPlaces(atOnce, sharing)
  let usualMs = 250
  const noPlace = () => rejection(Math.max(1, Math.ceil(((lanes.length() + places.busy()) / atOnce) * (usualMs / 1000))))
  function end(key: string): void {
    places.add(key, -1)
    for (let next = lanes.next(places); next; next = lanes.next(places)) {
      places.add(next.key, 1)
      next.start()
    }
  }
  async function inTurn<T>(key: string, work: () => Promise<T>, { lane = 'open', sources = [key] }: Place = {}): Promise<T> {
    if (places.isFree(key)) places.add(key, 1)
    else await waitIn(lanes[lane], { key, sources }, noPlace, maxWaitMs)
    const started = performance.now()
    try {
      return await work()
    } finally {
      usualMs += (performance.now() - started - usualMs) / 8
      end(key)
    }
  }
  return Object.assign(inTurn, {
    /** Checks in advance whether a call with this key would be rejected. @throws the error of `rejection` if so. */
    requirePlace(key: string, { lane = 'open', sources = [key] }: Place = {}): void {
      if (!places.isFree(key) && !lanes[lane].wouldAdd({ key, sources })) throw noPlace()
    },
  })
}

type Places = { isFree: IsFree; runningOf: (key: string) => number }

/** Counts the running calls. */
function openPlaces(atOnce: number, sharing: Sharing | undefined) {
  const running = new Map<string, number>()
  let [busy, inGroup] = [0, 0]
  const runningOf = (key: string) => running.get(key) ?? 0
  return {
    busy: () => busy,
    runningOf,
    isFree(key: string): boolean {
      if (!sharing) return busy < atOnce
      const own = runningOf(key)
      if (sharing.isInGroup(key) && sharing.groupPlaces - inGroup <= own) return false
      return own === 0 ? busy < atOnce + sharing.firsts : own < atOnce - busy
    },
    add(key: string, count: 1 | -1): void {
      busy += count
      if (sharing?.isInGroup(key)) inGroup += count
      running.set(key, runningOf(key) + count)
      if (running.get(key) === 0) running.delete(key)
    },
  }
}

/** Creates two queues that alternate while both have waiting calls, regardless of the number of keys in each. */
function openLanes(bounds: Bounds, reserved: number, recent: RecentCalls | undefined) {
  const [open, reservedLane] = [openQueue(bounds, recent), openQueue({ ...bounds, waiting: reserved }, recent)]
  let nextInOrder = [reservedLane, open]
  return {
    open,
    reserved: reservedLane,
    length: () => open.length() + reservedLane.length(),
    next(places: Places) {
      for (const queue of nextInOrder) {
        const next = queue.next(places)
        if (!next) continue
        nextInOrder = queue === open ? [reservedLane, open] : [open, reservedLane]
        return next
      }
      return undefined
    },
  }
}

function waitIn(queue: ReturnType<typeof openQueue>, caller: Caller, noPlace: () => Error, maxMs?: number): Promise<void> {
  return new Promise((start, reject) => {
    const one = { ...caller, start, fail: () => reject(noPlace()) }
    function giveUp(): void {
      queue.remove(one)
      one.fail()
    }
    if (!queue.add(one)) one.fail()
    else if (maxMs !== undefined) setTimeout(giveUp, maxMs).unref()
  })
}

/** Number of calls after which all counts are halved. */
const rememberedCalls = 8192

type RecentCalls = ReturnType<typeof countRecentCalls>

/** Counts recent calls by source, also rejected ones. Old calls lose their weight with the number of later ones, independently of the time. */
function countRecentCalls() {
  let counts = new Map<string, number>()
  let sinceHalved = 0
  return {
    /** Returns the number of recent calls of all sources together, at least one each. */
    of: (sources: readonly string[]) => sources.reduce((sum, source) => sum + (counts.get(source) ?? 1), 0),
    add(sources: readonly string[]): void {
      for (const source of sources) counts.set(source, (counts.get(source) ?? 0) + 1)
      if (++sinceHalved < rememberedCalls) return
      sinceHalved = 0
      counts = new Map([...counts].flatMap(([source, count]) => (count > 3 ? [[source, Math.floor(count / 2)]] : [])))
    },
  }
}

type Lines = ReadonlyMap<string, readonly Waiting[]>

/** Returns the waiting call that a new call of this key replaces in a full queue, if any. */
function replaceableCall(lines: Lines, key: string): Waiting | undefined {
  const longest = [...lines.values()].reduce((long, line) => (line.length > long.length ? line : long), [])
  return longest.length > (lines.get(key)?.length ?? 0) + 1 ? longest.at(-1) : undefined
}

/** Returns the waiting call that a newcomer replaces in a full queue, if any: one of those whose sources had the most recent calls. */
function busiestCall(lines: Lines, recent: RecentCalls, sources: readonly string[]): Waiting | undefined {
  const calls = [...lines.values()].flat().map((one) => ({ one, count: recent.of(one.sources) }))
  const most = Math.max(...calls.map(({ count }) => count))
  if (recent.of(sources) > most) return undefined
  const busiest = calls.filter(({ count }) => count === most)
  return busiest[Math.floor(Math.random() * busiest.length)]?.one
}

/** Creates a queue with a FIFO line per key. */
function openQueue({ waiting, waitingPerKey }: Bounds, recent: RecentCalls | undefined) {
  // A Map keeps insertion order. A key moves to the end when it is served.
  const lines = new Map<string, Waiting[]>()
  let length = 0
  const lineOf = (key: string) => lines.get(key) ?? []
  const replaceable = ({ key, sources }: Caller) => (recent ? busiestCall(lines, recent, sources) : replaceableCall(lines, key))
  const hasPlace = (caller: Caller) => lineOf(caller.key).length < waitingPerKey && (length < waiting || replaceable(caller) !== undefined)
  function remove(one: Waiting): void {
    const rest = lineOf(one.key).filter((other) => other !== one)
    length -= lineOf(one.key).length - rest.length
    if (rest.length > 0) lines.set(one.key, rest)
    else lines.delete(one.key)
  }
  return {
    length: () => length,
    /** Returns whether `add` would succeed. Counts as a call. */
    wouldAdd(caller: Caller): boolean {
      recent?.add(caller.sources)
      return hasPlace(caller)
    },
    /** Adds a call, if necessary by rejecting another one. Returns false if there is no place. */
    add(one: Waiting): boolean {
      recent?.add(one.sources)
      if (!hasPlace(one)) return false
      const other = length < waiting ? undefined : replaceable(one)
      if (other) remove(other)
      other?.fail()
      length++
      lines.set(one.key, [...lineOf(one.key), one])
      return true
    },
    remove,
    next({ isFree, runningOf }: Places): Waiting | undefined {
      const [key] = [...lines.keys()].filter(isFree).toSorted((a, b) => runningOf(a) - runningOf(b))
      const [first, ...rest] = key === undefined ? [] : lineOf(key)
      if (key === undefined || !first) return undefined
      lines.delete(key)
      if (rest.length > 0) lines.set(key, rest)
      length--
      return first
    },
  }
}
