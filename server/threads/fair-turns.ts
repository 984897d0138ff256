import { rateLimited } from '../errors.ts'

type Bounds = {
  /** How many may wait in all. */
  waiting: number
  /** How many may wait under one key. */
  waitingPerKey: number
}
type Turns = Bounds & {
  atOnce: number
  /** Work that waited so long is refused. */
  maxWaitMs?: number
  /** What refused work is answered, with the seconds that all work before it takes. */
  refusal?: (seconds: number) => Error
}
type Waiting = { start: () => void; refuse: () => void }
/** How much of each key is running. */
type Running = ReadonlyMap<string, number>

export type InTurn = {
  <T>(key: string, work: () => Promise<T>): Promise<T>
  /** @throws what `refusal` makes when work under this key would be refused now: before anything is done for it. */
  requirePlace(key: string): void
}

/**
 * Makes a function that runs at most `atOnce` pieces of work of many callers, told apart by a key such as their address, so that nobody waits
 * behind another's flood: the next place goes to the key with the least work running, and keys with as much take turns. When the queue is
 * full, the newest work of the key with the most waiting is refused in favor of a key with less.
 * @throws what `refusal` makes, at once when there is no place: by default ApiError RateLimitExceeded.
 */
export function takeFairTurns({ atOnce, maxWaitMs, refusal = rateLimited, ...bounds }: Turns): InTurn {
  const queue = openQueue(bounds)
  const running = new Map<string, number>()
  let busy = 0
  let usualMs = 250

  const noPlace = () => refusal(Math.max(1, Math.ceil(((queue.length() + busy) / atOnce) * (usualMs / 1000))))
  function begin(key: string): void {
    busy++
    running.set(key, (running.get(key) ?? 0) + 1)
  }
  function end(key: string): void {
    busy--
    running.set(key, (running.get(key) ?? 1) - 1)
    if (running.get(key) === 0) running.delete(key)
    const next = queue.next(running)
    if (!next) return
    begin(next.key)
    next.start()
  }
  async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (busy < atOnce) begin(key)
    else await waitIn(queue, key, noPlace, maxWaitMs)
    const started = performance.now()
    try {
      return await work()
    } finally {
      usualMs += (performance.now() - started - usualMs) / 8
      end(key)
    }
  }
  return Object.assign(inTurn, {
    requirePlace(key: string) {
      if (busy >= atOnce && !queue.hasPlace(key)) throw noPlace()
    },
  })
}

/** Resolves when it is one's turn. */
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

/** Those who wait, a line for each key. */
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
