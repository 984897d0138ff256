import type { Reads } from '../db/reads.ts'
import { countPackages, listPackages, type ListSort, type SearchMatch, type Source } from './listing.ts'
import { afterPrefix, namesBetween, rankPackages } from './ranking.ts'
import { suggestNames } from './suggest.ts'
import { queryTerms } from './terms.ts'

export type SearchSort = 'relevance' | ListSort

export type SearchRequest = {
  /** As typed. Blank: all packages. */
  query?: string | null | undefined
  /** Default: relevance; for a blank query, what was updated last. */
  sort?: SearchSort | null | undefined
  limit: number
  offset?: number | null | undefined
  /** The cursor of the match before the first one wanted. */
  after?: string | null | undefined
}

export type SearchPage = {
  matches: SearchMatch[]
  hasNextPage: boolean
  totalCount: () => Promise<number>
  /** Names that the query may have meant, when it found nothing. */
  didYouMean: () => Promise<string[]>
}

/**
 * Finds packages with at most four reads, whatever there is, and one more when they are counted.
 * @throws ApiError InvalidInput for a cursor of another search.
 */
export async function searchPackages(source: Source, { query, sort, limit, offset, after }: SearchRequest): Promise<SearchPage> {
  const terms = queryTerms(query ?? '')
  if (!terms && query?.trim()) return nothing
  const stretch = { limit: limit + 1, offset: offset ?? 0, after }
  const matches =
    terms && (sort ?? 'relevance') === 'relevance'
      ? await rankPackages(source, terms, stretch)
      : await listPackages(source, terms, sort && sort !== 'relevance' ? sort : 'updated', stretch)
  return {
    matches: matches.slice(0, limit),
    hasNextPage: matches.length > limit,
    totalCount: () => countPackages(source, terms),
    didYouMean: async () => (terms && matches.length === 0 ? suggestNames(source, terms.name) : []),
  }
}

/** The first names that begin with `prefix`, in order. */
export async function completeNames(reads: Reads, prefix: string, limit: number): Promise<string[]> {
  if (!/^\w+$/.test(prefix)) return []
  const rows = await reads.all<{ name: string }>(namesBetween, prefix, afterPrefix(prefix), limit)
  return rows.map(({ name }) => name)
}

/** A query of nothing but signs finds nothing. */
const nothing: SearchPage = { matches: [], hasNextPage: false, totalCount: async () => 0, didYouMean: async () => [] }
