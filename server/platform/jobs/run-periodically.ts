import type { Log } from '../http/log.ts'
import type { Services } from '../../services.ts'
import { openFailureLog } from './failure.ts'

type Dependencies = { log: Log; database: Pick<Services['database'], 'moveState'> }

/**
 * Runs `work` every `intervalMs` milliseconds without overlap. A failure is logged (a known outage once) and the schedule continues. Nothing runs
 * during or after a move of the database, because a server on the new one may refer to archives unknown here.
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

const checkIntervalMs = 1000

/** Logs when a move of the database to PostgreSQL, which rejects changes, begins and ends. Returns a function that stops the timer. */
export function logMove({ log, database }: Dependencies): () => void {
  let last = database.moveState()
  const timer = setInterval(() => {
    const state = database.moveState()
    if (state === last) return
    last = state
    if (state === 'moving')
      log.warning('The database is being moved to PostgreSQL. Requests that change data are rejected with 503 until the move ends.')
    else if (state === null) log.warning('The move of the database to PostgreSQL was interrupted. Changes are accepted again.')
    else
      log.error('The database was moved to PostgreSQL. Changes are rejected. Restart the server with DB_BACKEND=postgres and POSTGRES_URL.')
  }, checkIntervalMs).unref()
  return () => clearInterval(timer)
}
