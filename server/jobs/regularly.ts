import { traceOf } from '../errors.ts'
import type { Log } from '../http/log.ts'
import type { Services } from '../services.ts'

type Surroundings = { log: Log; database: Pick<Services['database'], 'moveState'> }

/**
 * Does `work` every `intervalMs`, one at a time, without keeping the process alive. A failure is logged and the next turn comes as usual. While the
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
      log.error(`${name}: ${traceOf(error)}`)
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void turn(), intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
