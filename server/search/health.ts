import { dialectOf } from './dialects.ts'
import type { Source } from './listing.ts'
import { queryTerms } from './terms.ts'

/** Resolves when the index is there and answers; throws the database's error when not. */
export async function checkSearch({ reads, backend }: Source): Promise<void> {
  const dialect = dialectOf(backend)
  const { words } = queryTerms('health check') ?? { words: [] }
  await reads.all(`${dialect.matching.full} limit 1`, dialect.match(words, 'full'))
  await reads.all(dialect.ranked, dialect.match(words, 'brief'), 1)
}
