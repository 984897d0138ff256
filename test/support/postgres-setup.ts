import { startPostgres } from './postgres-server.ts'

/** Vitest's global set-up: one server for the whole run. TEST_POSTGRES names another one to use. */
export default async function setup() {
  if (process.env.TEST_POSTGRES) return undefined // given, or started for another project
  const { url, stop } = await startPostgres()
  process.env.TEST_POSTGRES = url // inherited by the processes that run the tests
  process.env.TEST_POSTGRES_ENDS = 'with the run' // so databases may be left in it
  return stop
}
