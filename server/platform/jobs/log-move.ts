import type { Log } from '../http/log.ts'
import type { Services } from '../../services.ts'

const checkIntervalMs = 1000

/**
 * Logs when a move of the database to PostgreSQL begins and ends. Changes are rejected from its beginning. Returns a function that stops the timer.
 */
export function logMove({ log, database }: { log: Log; database: Pick<Services['database'], 'moveState'> }): () => void {
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
