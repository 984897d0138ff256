import type { Client } from 'pg'
import { z } from 'zod'
import type { Config } from '../../platform/config/config.ts'
import { openDatabase } from '../../platform/db/open/orm.ts'
import { openLog } from '../../platform/http/log.ts'
import { completeIndex } from '../../registry/search/rebuild.ts'

const counts = z.tuple([z.object({ done: z.coerce.number(), total: z.coerce.number() })])

/**
 * Builds the search index after all packages were copied. An interrupted run continues with the missing packages. `report` receives the progress
 * every second.
 */
export async function buildIndex(config: Config, client: Client, report: (done: number, total: number) => void): Promise<void> {
  const database = await openDatabase(config, { isMove: true })
  const count = async () => {
    const { rows } = await client.query(
      'select (select count(*) from package_search_documents) as done, (select count(*) from packages) as total',
    )
    const [{ done, total }] = counts.parse(rows)
    report(done, total)
  }
  // Errors are ignored here: a broken connection also fails the index build, which reports the error.
  const timer = setInterval(() => void count().catch(() => {}), 1000)
  try {
    await completeIndex({ config, database, log: openLog('error', () => {}), now: database.now, state: {} })
  } finally {
    clearInterval(timer)
    await database.close()
  }
  await count()
}
