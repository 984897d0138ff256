import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../server/platform/config/config.ts'
import { openDatabase } from '../../server/platform/db/open/orm.ts'

const requiredForTests = { SERVER_URL: 'http://localhost:8080', JWT_SECRET: 'a secret for tests that is long enough' }

/** Vitest global setup: creates one migrated SQLite file for the whole run. Tests copy it instead of running migrations. */
export default async function setup() {
  if (process.env.TEST_SQLITE) return undefined // another project of this run has created the file
  const folder = await mkdtemp(join(tmpdir(), 'snug-sqlite-'))
  const path = join(folder, 'migrated.sqlite')
  const migrated = await openDatabase(readConfig({ ...requiredForTests, SQLITE_PATH: path }))
  await migrated.close()
  process.env.TEST_SQLITE = path // test processes inherit the variable
  return () => rm(folder, { recursive: true, force: true })
}
