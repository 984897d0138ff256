import { rateLimited } from '../errors.ts'

type Bounds = {
  /** How many may wait in all. */
  waiting: number
  /** How many may wait under one key. */
  waitingPerKey: number
}
type Turns = Bounds & {
  atOnce: number
  /** How many may wait in the reserved lane, in addition to `waiting`. */
  reserved?: number
  /** Work that waited so long is refused. */
  maxWaitMs?: number
  /** What refused work is answered, with the seconds that all work before it takes. */
  refusal?: (seconds: number) => Error
}
type Waiting = { start: () => void; refuse: () => void }
/** How much of each key is running. */
type Running = ReadonlyMap<string, number>

/** The reserved lane is for callers that the server has reason to trust. Callers in the open lane cannot take its places. */
export type Lane = 'open' | 'reserved'

export type InTurn = {
  <T>(key: string, work: () => Promise<T>, lane?: Lane): Promise<T>
  /** @throws what `refusal` makes when work under this key would be refused now: before anything is done for it. */
  requirePlace(key: string, lane?: Lane): void
}

/**
 * Returns a function that runs at most `atOnce` pieces of work at a time. Callers are distinguished by a key such as their network, so that a
 * flood of one caller does not delay others: the next turn goes to the key with the least work running, and keys with equal work take turns.
 * The two lanes alternate while both have work. When a lane is full, the newest work of the key with the most waiting is refused in favor of
 * a key with less.
 * @throws what `refusal` makes, at once when there is no place: by default ApiError RateLimitExceeded.
 */
export function takeFairTurns({ atOnce, reserved = 0, maxWaitMs, refusal = rateLimited, ...bounds }: Turns): InTurn {
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
    requirePlace(key: string, lane: Lane = 'open') {
      if (busy >= atOnce && !lanes[lane].hasPlace(key)) throw noPlace()
    },
  })
}

/** Two queues that take turns while both have work, however many keys wait in one of them. */
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

/** Resolves when the turn comes. */
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

/** A queue with a line for each key. */
function openQueue({ waiting, waitingPerKey }: Bounds) {
  // A Map keeps the order of insertion: a key moves to its end when it is served.
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
    /** Whether there was a place, if need be at the expense of the key with the most waiting. */
    add(key: string, one: Waiting): boolean {
      if (!hasPlace(key)) return false
      if (length >= waiting) longestLine().pop()?.refuse()
      else length++
      lines.set(key, [...lineOf(key), one])
      return true
    },
    /** Takes out what waits no longer. */
    remove(key: string, one: Waiting): void {
      const rest = lineOf(key).filter((other) => other !== one)
      length -= lineOf(key).length - rest.length
      if (rest.length > 0) lines.set(key, rest)
      else lines.delete(key)
    },
    /** Takes out whose turn it is. */
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
