import { dialectOf } from './dialects.ts'
import type { Database } from '../db/open/orm.ts'
import { isIncomplete } from './rebuild.ts'
import { everything } from './selection.ts'
import { queryTerms } from './terms.ts'

/** Whether the index that answers knows every package. Throws the database's error when it does not answer. */
export async function checkSearch(database: Database): Promise<'ok' | 'initializing'> {
  const { reads, backend } = database
  const status = isIncomplete(database) ? 'initializing' : 'ok'
  const dialect = dialectOf(backend)
  const selection = { ...everything(null), terms: queryTerms('health check') }
  const matching = dialect.matching(selection, 'full')
  await reads.all(`${matching.sql} limit 1`, ...matching.parameters)
  const ranked = dialect.ranked(selection, 'brief', 1)
  await reads.all(ranked.sql, ...ranked.parameters)
  return status
}
