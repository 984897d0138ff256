import { startPostgres } from './postgres-server.ts'

/** Vitest global setup: starts one PostgreSQL server for the whole run. TEST_POSTGRES is the URL of a server to use instead. */
export default async function setup() {
  if (process.env.TEST_POSTGRES) return undefined // set by the user, or by another project of this run
  const { url, stop } = await startPostgres()
  process.env.TEST_POSTGRES = url // inherited by the test processes
  process.env.TEST_POSTGRES_ENDS = 'with the run' // databases need not be dropped
  return stop
}
