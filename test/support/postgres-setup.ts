import { startPostgres } from './postgres-server.ts'

/** Vitest global setup: starts one PostgreSQL server for the whole run. TEST_POSTGRES is the URL of a server to use instead. */
export default async function setup() {
  if (process.env.TEST_POSTGRES) return undefined // the user has set it, or another project of this run has started the server
  const { url, stop } = await startPostgres()
  process.env.TEST_POSTGRES = url // test processes inherit the variable
  process.env.TEST_POSTGRES_ENDS = 'with the run' // tests may leave databases behind
  return stop
}
