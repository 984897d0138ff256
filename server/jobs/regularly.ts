import type { Log } from '../http/log.ts'
import type { Services } from '../services.ts'
import { openFailureLog } from './failure-log.ts'

type Surroundings = { log: Log; database: Pick<Services['database'], 'moveState'> }

/**
 * Does `work` every `intervalMs`, one at a time, without keeping the process alive. A failure is logged, a known outage as one warning until the
 * work succeeds, and the next turn comes as usual. Nothing is done while the database is moved, nor afterwards: a server on the new database may
 * name archives that this one does not know.
 * @returns what ends it.
 */
export function regularly(name: string, intervalMs: number, { log, database }: Surroundings, work: () => Promise<unknown>): () => void {
  let busy = false
  const failures = openFailureLog(log)
  const turn = async () => {
    if (busy || database.moveState() !== null) return
    busy = true
    try {
      await work()
      failures.worked(name)
    } catch (error) {
      failures.failed(name, error, (text) => `${name}: ${text}`)
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void turn(), intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
