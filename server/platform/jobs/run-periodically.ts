import type { Log } from '../http/log.ts'
import type { Services } from '../../services.ts'
import { openFailureLog } from './failure-log.ts'

type Dependencies = { log: Log; database: Pick<Services['database'], 'moveState'> }

/**
 * Runs `work` every `intervalMs` milliseconds without overlap. The timer does not keep the process alive. A failure is logged (a known outage only
 * once until the work succeeds) and the schedule continues. Nothing runs during or after a move of the database, because a server on the new database
 * may refer to archives unknown to this one.
 * @returns a function that stops the timer.
 */
export function runPeriodically(
  name: string,
  intervalMs: number,
  { log, database }: Dependencies,
  work: () => Promise<unknown>,
): () => void {
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
