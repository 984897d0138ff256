import { dialectOf } from './dialects.ts'
import type { Services } from '../../services.ts'
import { everything } from './selection.ts'
import { queryTerms } from './terms.ts'

/** Returns whether the search index is complete. Throws the database's error when the index cannot be queried. */
export async function checkSearch({ database, state }: Pick<Services, 'database' | 'state'>): Promise<'ok' | 'initializing'> {
  const { reads, backend } = database
  const status = state.isIndexing ? 'initializing' : 'ok'
  const dialect = dialectOf(backend)
  const selection = { ...everything(null), terms: queryTerms('health check') }
  for (const breadth of ['full', 'brief'] as const) {
    const { sql, parameters } = dialect.matching(selection, breadth)
    await reads.all(`select id from (${sql}) m limit 1`, ...parameters)
  }
  return status
}
