import { DatabaseAway } from './unavailable.ts'

/** A FIFO mutex. */
export type Turns = {
  /** Resolves when the caller holds the lock. @throws DatabaseAway on timeout. */
  take(): Promise<void>
  /** Releases the lock. */
  give(): void
  /** Returns whether the lock is held, and the number of waiting callers. */
  state(): { isTaken: boolean; waiting: number }
}

/** Creates a FIFO mutex. Callers wait at most `patienceMs` milliseconds. */
export function openTurns(patienceMs: number): Turns {
  const waiting: (() => void)[] = []
  let taken = false
  return {
    async take() {
      if (!taken) {
        taken = true
        return
      }
      await new Promise<void>((resolve, reject) => {
        const begin = () => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1)
          reject(new DatabaseAway(`The database's connection was in use for more than ${patienceMs} ms.`))
        }, patienceMs)
        waiting.push(begin)
      })
    },
    give() {
      const next = waiting.shift()
      if (next) next()
      else taken = false
    },
    state: () => ({ isTaken: taken, waiting: waiting.length }),
  }
}
