import { rateLimited } from '../errors.ts'

type Bounds = {
  /** How many pieces of work run at once. */
  atOnce: number
  /** How many may wait in all. */
  waiting: number
  /** How many may wait under one key. */
  waitingPerKey: number
}
type Waiting = { start: () => void; refuse: () => void }

/**
 * Makes a function that runs work of many callers, told apart by a key such as their address, so that nobody waits behind another's flood:
 * the next place goes to the key with the least work running, and keys with as much take turns. When the queue is
 * full, the key with the most waiting gives way to one with fewer.
 * @throws ApiError RateLimitExceeded at once when there is no place; its Retry-After is the time that all work before it takes.
 */
export function takeFairTurns({ atOnce, waiting, waitingPerKey }: Bounds): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  // A Map keeps the order of insertion: keys move to its end when they are served.
  const lines = new Map<string, Waiting[]>()
  const running = new Map<string, number>()
  let busy = 0
  let queued = 0
  let usualMs = 250

  const fullFor = () => rateLimited(Math.max(1, Math.ceil(((queued + busy) / atOnce) * (usualMs / 1000))))
  const lineOf = (key: string) => lines.get(key) ?? []

  function begin(key: string): void {
    busy++
    running.set(key, (running.get(key) ?? 0) + 1)
  }
  function end(key: string): void {
    busy--
    const left = (running.get(key) ?? 1) - 1
    if (left > 0) running.set(key, left)
    else running.delete(key)
    startNext()
  }
  function startNext(): void {
    const [key] = [...lines.keys()].toSorted((a, b) => (running.get(a) ?? 0) - (running.get(b) ?? 0))
    if (key === undefined) return
    const [next, ...rest] = lineOf(key)
    lines.delete(key)
    if (rest.length > 0) lines.set(key, rest)
    queued--
    begin(key)
    next?.start()
  }
  /** Makes room for one more of this key, if need be at the expense of the key with the most waiting. */
  function makeRoom(key: string): void {
    if (lineOf(key).length >= waitingPerKey) throw fullFor()
    if (queued < waiting) return
    const [longest] = [...lines.values()].toSorted((a, b) => b.length - a.length)
    if (!longest || longest.length <= lineOf(key).length + 1) throw fullFor()
    longest.pop()?.refuse()
    queued--
  }
  function wait(key: string): Promise<void> {
    makeRoom(key)
    return new Promise<void>((start, reject) => {
      lines.set(key, [...lineOf(key), { start, refuse: () => reject(fullFor()) }])
      queued++
    })
  }
  return async function inTurn(key, work) {
    if (busy < atOnce) begin(key)
    else await wait(key)
    const started = performance.now()
    try {
      return await work()
    } finally {
      usualMs += (performance.now() - started - usualMs) / 8
      end(key)
    }
  }
}
