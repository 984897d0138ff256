/** Work that waits, in turns of whoever asked for it: a caller with much of it holds up nobody else. */
export type FairQueue<Work> = {
  /** False when there is no room for more. */
  add(caller: string, work: Work): boolean
  /** The next caller's oldest work. */
  next(): Work | undefined
  /** Takes out work of a caller that waits no longer. */
  remove(caller: string, work: Work): void
  isEmpty(): boolean
}

/** Holds at most `maxWaiting` pieces of work, and `maxPerCaller` of one caller. */
export function fairQueue<Work>({ maxWaiting, maxPerCaller }: { maxWaiting: number; maxPerCaller: number }): FairQueue<Work> {
  // A Map keeps the order of insertion: whoever had a turn goes to the end.
  const waiting = new Map<string, Work[]>()
  let count = 0
  return {
    add(caller, work) {
      const own = waiting.get(caller) ?? []
      if (count >= maxWaiting || own.length >= maxPerCaller) return false
      own.push(work)
      waiting.set(caller, own)
      count++
      return true
    },
    remove(caller, work) {
      const own = waiting.get(caller) ?? []
      const index = own.indexOf(work)
      if (index === -1) return
      own.splice(index, 1)
      if (own.length === 0) waiting.delete(caller)
      count--
    },
    isEmpty: () => count === 0,
    next() {
      const [first] = waiting
      if (!first) return undefined
      const [caller, own] = first
      const work = own.shift()
      waiting.delete(caller)
      if (own.length > 0) waiting.set(caller, own)
      count--
      return work
    },
  }
}
