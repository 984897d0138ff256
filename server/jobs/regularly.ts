import type { Log } from '../http/log.ts'
import type { Services } from '../services.ts'
import { describeFailure } from './failure.ts'

type Surroundings = { log: Log; database: Pick<Services['database'], 'moveState'> }

/**
 * Does `work` every `intervalMs`, one at a time, without keeping the process alive. A failure is logged, as a warning where it is known to happen and passes, and the next turn comes as usual. While the
 * database is moved nothing is done, nor afterwards: whoever works with the new one may name archives that this one does not know.
 * @returns what ends it.
 */
export function regularly(name: string, intervalMs: number, { log, database }: Surroundings, work: () => Promise<unknown>): () => void {
  let busy = false
  const turn = async () => {
    if (busy || database.moveState() !== null) return
    busy = true
    try {
      await work()
    } catch (error) {
      const { isKnown, text } = describeFailure(error)
      log[isKnown ? 'warning' : 'error'](`${name}: ${text}`)
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void turn(), intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
