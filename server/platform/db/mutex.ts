import { DatabaseAway } from './unavailable.ts'

/** A FIFO mutex. */
export type Mutex = {
  /** Resolves when the caller holds the lock. @throws DatabaseAway on timeout. */
  lock(): Promise<void>
  /** Releases the lock. */
  unlock(): void
  /** Returns whether the lock is held, and the number of waiting callers. */
  state(): { isLocked: boolean; waiting: number }
}

/** Creates a FIFO mutex. Callers wait at most `timeoutMs` milliseconds. */
export function createMutex(timeoutMs: number): Mutex {
  const waiting: (() => void)[] = []
  let locked = false
  return {
    async lock() {
      if (!locked) {
        locked = true
        return
      }
      await new Promise<void>((resolve, reject) => {
        const begin = () => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1)
          reject(new DatabaseAway(`The database's connection was in use for more than ${timeoutMs} ms.`))
        }, timeoutMs)
        waiting.push(begin)
      })
    },
    unlock() {
      const next = waiting.shift()
      if (next) next()
      else locked = false
    },
    state: () => ({ isLocked: locked, waiting: waiting.length }),
  }
}
