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
  /** Maximum wait in milliseconds. Calls that wait longer are rejected. */
  maxWaitMs?: number
  /** Creates the error for rejected calls. `seconds` estimates the time until the queue is empty. */
  refusal?: (seconds: number) => Error
}
type Waiting = { start: () => void; refuse: () => void }
type Running = ReadonlyMap<string, number>

/** The reserved lane is for trusted callers. Calls in the open lane cannot use its places. */
export type Lane = 'open' | 'reserved'

/**
 * Returns a limiter that runs at most `atOnce` calls concurrently. The next call is taken from the key, such as the caller's network, with the fewest
 * running calls; equal keys take turns, and so do the open and the reserved lane. In a full lane, a new call replaces the newest call of the key with
 * the most waiting calls if its own key has fewer. Otherwise, it is rejected. @throws the error of `refusal`, by default ApiError RateLimitExceeded.
 */
export function createFairLimiter({ atOnce, reserved = 0, maxWaitMs, refusal = rateLimited, ...bounds }: LimiterOptions) {
  const lanes = openLanes(bounds, reserved)
  const running = new Map<string, number>()
  let busy = 0
  let usualMs = 250
  const noPlace = () => refusal(Math.max(1, Math.ceil(((lanes.length() + busy) / atOnce) * (usualMs / 1000))))
  function begin(key: string): void {
    busy++
    running.set(key, (running.get(key) ?? 0) + 1)
  }
  function end(key: string): void {
    busy--
    running.set(key, (running.get(key) ?? 1) - 1)
    if (running.get(key) === 0) running.delete(key)
    const next = lanes.next(running)
    if (!next) return
    begin(next.key)
    next.start()
  }
  async function inTurn<T>(key: string, work: () => Promise<T>, lane: Lane = 'open'): Promise<T> {
    if (busy < atOnce) begin(key)
    else await waitIn(lanes[lane], key, noPlace, maxWaitMs)
    const started = performance.now()
    try {
      return await work()
    } finally {
      usualMs += (performance.now() - started - usualMs) / 8
      end(key)
    }
  }
  return Object.assign(inTurn, {
    /** Checks in advance whether a call with this key would be rejected. @throws the error of `refusal` if so. */
    requirePlace(key: string, lane: Lane = 'open'): void {
      if (busy >= atOnce && !lanes[lane].hasPlace(key)) throw noPlace()
    },
  })
}

/** Creates two queues that alternate while both have waiting calls, regardless of the number of keys in each. */
function openLanes(bounds: Bounds, reserved: number) {
  const [open, reservedLane] = [openQueue(bounds), openQueue({ ...bounds, waiting: reserved })]
  let nextInOrder = [reservedLane, open]
  return {
    open,
    reserved: reservedLane,
    length: () => open.length() + reservedLane.length(),
    next(running: Running) {
      for (const queue of nextInOrder) {
        const next = queue.next(running)
        if (!next) continue
        nextInOrder = queue === open ? [reservedLane, open] : [open, reservedLane]
        return next
      }
      return undefined
    },
  }
}

function waitIn(queue: ReturnType<typeof openQueue>, key: string, noPlace: () => Error, maxMs: number | undefined): Promise<void> {
  return new Promise((start, reject) => {
    const one = { start, refuse: () => reject(noPlace()) }
    function giveUp(): void {
      queue.remove(key, one)
      one.refuse()
    }
    if (!queue.add(key, one)) one.refuse()
    else if (maxMs !== undefined) setTimeout(giveUp, maxMs).unref()
  })
}

/** Creates a queue with a FIFO line per key. */
function openQueue({ waiting, waitingPerKey }: Bounds) {
  // A Map keeps insertion order. A key moves to the end when it is served.
  const lines = new Map<string, Waiting[]>()
  let length = 0
  const lineOf = (key: string) => lines.get(key) ?? []
  const longestLine = () => [...lines.values()].reduce((longest, line) => (line.length > longest.length ? line : longest), [])
  function hasPlace(key: string): boolean {
    const own = lineOf(key)
    return own.length < waitingPerKey && (length < waiting || longestLine().length > own.length + 1)
  }
  return {
    length: () => length,
    hasPlace,
    /** Adds a call, if necessary by rejecting a call of the key with the most waiting calls. Returns false if there is no place. */
    add(key: string, one: Waiting): boolean {
      if (!hasPlace(key)) return false
      if (length >= waiting) longestLine().pop()?.refuse()
      else length++
      lines.set(key, [...lineOf(key), one])
      return true
    },
    remove(key: string, one: Waiting): void {
      const rest = lineOf(key).filter((other) => other !== one)
      length -= lineOf(key).length - rest.length
      if (rest.length > 0) lines.set(key, rest)
      else lines.delete(key)
    },
    next(running: Running): (Waiting & { key: string }) | undefined {
      const [key = ''] = [...lines.keys()].toSorted((a, b) => (running.get(a) ?? 0) - (running.get(b) ?? 0))
      const [first, ...rest] = lineOf(key)
      if (!first) return undefined
      lines.delete(key)
      if (rest.length > 0) lines.set(key, rest)
      length--
      return { ...first, key }
    },
  }
}
