import { completeFilters, type Completion, type Facets, facetsOf } from './facets.ts'
import { countMatches, listPackages, type ListSort, type SearchMatch } from './listing.ts'
import { completeIn, rankPackages } from './ranking.ts'
import { everything, partsOf, type Searcher, type Selection, selectionOf, type Source } from './selection.ts'
import { suggestNames } from './suggest.ts'

export type SearchSort = 'relevance' | ListSort

export type SearchRequest = {
  /** Who is asking. */
  searcher: Searcher
  /** As typed. Blank: all packages. */
  query?: string | null | undefined
  /** Default: relevance; without words to look for, what was updated last. */
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
  /** What else could be filtered by. */
  facets: () => Promise<Facets>
}

/**
 * Finds packages with a bounded number of reads, whatever there is, and one more when they are counted.
 * @throws ApiError InvalidInput for a cursor of another search.
 */
export async function searchPackages(source: Source, { searcher, query, sort, limit, offset, after }: SearchRequest): Promise<SearchPage> {
  const selection = await selectionOf(source, query ?? '', searcher)
  if (!selection) return nothing
  const { terms } = selection
  const parts = await partsOf(source, selection)
  const stretch = { limit: limit + 1, offset: offset ?? 0, after }
  const matches =
    terms && (sort ?? 'relevance') === 'relevance'
      ? await rankPackages(
          source,
          parts.map((part) => ({ ...part, terms })),
          stretch,
        )
      : await listPackages(source, parts, sort && sort !== 'relevance' ? sort : 'updated', stretch)
  return {
    matches: matches.slice(0, limit),
    hasNextPage: matches.length > limit,
    totalCount: () => countMatches(source, parts),
    didYouMean: async () => (terms && matches.length === 0 ? suggestNames(source, terms.name, reachesOf(parts)) : []),
    facets: () => facetsOf(source, parts, searcher),
  }
}

/** The first names that begin with `prefix`, in order, of what whoever searches may find. */
export async function completeNames(source: Source, searcher: Searcher, prefix: string, limit: number): Promise<string[]> {
  if (!/^\w+$/.test(prefix)) return []
  return completeIn(source, await partsOf(source, everything(searcher)), prefix, limit)
}

/**
 * Ways to go on with a query that somebody is typing: names of packages while it is one word, and filters with their values. The cost is
 * bounded, whatever there is.
 */
export async function completeQuery(source: Source, searcher: Searcher, query: string, limit: number): Promise<Completion[]> {
  const names = await completeNames(source, searcher, query.trim().toLowerCase(), limit)
  const filters = await completeFilters(source, searcher, query, limit)
  return [...filters, ...names.map((name) => ({ query: name, label: name, count: null, isPackage: true }))].slice(0, limit)
}

const reachesOf = (parts: readonly Selection[]) => parts.map(({ reach }) => reach)

/** A query of nothing but signs finds nothing. */
const nothing: SearchPage = {
  matches: [],
  hasNextPage: false,
  totalCount: async () => 0,
  didYouMean: async () => [],
  facets: async () => ({ facets: [], isExact: true }),
}
