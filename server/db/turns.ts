import { DatabaseAway } from './unavailable.ts'

/** One at a time, in the order of asking. */
export type Turns = {
  /** Resolves when it is one's turn. @throws DatabaseAway when that takes too long. */
  take(): Promise<void>
  /** Ends one's turn. */
  give(): void
  /** Whether somebody has the turn, and how many wait for it. */
  state(): { isTaken: boolean; waiting: number }
}

/** Turns that are waited for `patienceMs` at most. */
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
