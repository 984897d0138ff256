import { readRank, writeCursor } from './cursor.ts'
import { dialectOf, type Scope } from './dialects.ts'
import { listPackages, type SearchMatch, type Source, type Stretch } from './listing.ts'
import type { QueryTerms } from './terms.ts'

/**
 * The packages that match, best first. A weaker kind of match is asked for only when the better ones do not fill the page: the name itself
 * and names that begin so; words and parts of names; descriptions and topics; READMEs, what was updated last first.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function rankPackages(source: Source, terms: QueryTerms, { limit, offset, after }: Stretch): Promise<SearchMatch[]> {
  const skipped = offset + (after ? readRank(after) : 0)
  const wanted = skipped + limit
  const found = new Map<string, Found>()
  for (const kind of kindsOfMatch(source, terms)) {
    if (found.size >= wanted) break
    for (const match of await kind(wanted)) if (!found.has(match.id)) found.set(match.id, match)
  }
  return [...found.values()].slice(skipped, wanted).map((match, index) => ({ ...match, cursor: writeCursor(skipped + index + 1) }))
}

/** The statement for the first names from one on and before another. */
export const namesBetween = 'select package_id as id, name from package_search_documents where name >= ? and name < ? order by name limit ?'

/** After every name that begins with the prefix: names are ASCII. */
export const afterPrefix = (prefix: string): string => `${prefix}~`

type Found = Omit<SearchMatch, 'cursor'>

function kindsOfMatch(source: Source, terms: QueryTerms): ((limit: number) => Promise<Found[]>)[] {
  const byName = [(limit: number) => beginning(source, terms, limit), (limit: number) => within(source, terms, 'name', limit)]
  if (terms.namesOnly) return byName
  return [
    ...byName,
    (limit) => within(source, terms, 'brief', limit),
    async (limit) => (await listPackages(source, terms, 'updated', { limit, offset: 0 })).map((match) => ({ ...match, score: 0.1 })),
  ]
}

async function beginning({ reads }: Source, { name }: QueryTerms, limit: number): Promise<Found[]> {
  const rows = await reads.all<{ id: string; name: string }>(namesBetween, name, afterPrefix(name), limit)
  return rows.map((row) => ({ ...row, score: row.name === name ? 1 : 0.9 }))
}

async function within({ reads, backend }: Source, { words }: QueryTerms, scope: Scope, limit: number): Promise<Found[]> {
  const dialect = dialectOf(backend)
  const rows = await reads.all<Found>(dialect.ranked, dialect.match(words, scope), limit)
  return rows.map((row) => ({ ...row, score: (scope === 'name' ? 0.6 : 0.3) + 0.25 * row.score }))
}
