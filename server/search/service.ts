import { completeFilters, type Completion, type Facets, facetsOf } from './facets.ts'
import { countMatches, listPackages, type ListSort, readRank, type SearchMatch, type Stretch, writeCursor } from './listing.ts'
import { completeIn, type Ranked, rankPackages, type WordSelection } from './ranking.ts'
import { everything, partsOf, type Searcher, type Selection, selectionOf, type Source } from './selection.ts'
import { correct, suggestNames } from './typos.ts'

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
  /** The query that was searched for instead, with a typing mistake corrected; null when it was searched for as typed. */
  searchedFor: string | null
  totalCount: () => Promise<number>
  /** Names that the query may have meant, when it found nothing as typed. */
  didYouMean: () => Promise<string[]>
  /** What else could be filtered by. */
  facets: () => Promise<Facets>
}

/**
 * Finds packages with a bounded number of reads, whatever there is, and one more when they are counted. A query that finds hardly anything is
 * searched for with one typing mistake corrected.
 * @throws ApiError InvalidInput for a cursor of another search.
 */
export async function searchPackages(source: Source, { searcher, query, sort, limit, offset, after }: SearchRequest): Promise<SearchPage> {
  const selection = await selectionOf(source, query ?? '', searcher)
  if (!selection) return nothing
  const parts = await partsOf(source, selection)
  const stretch = { limit: limit + 1, offset: offset ?? 0, after }
  const order = sort ?? (selection.terms ? 'relevance' : 'updated')
  const { matches, ...found } = isByWords(parts)
    ? await findWords(source, parts, { query: query ?? '', order, stretch })
    : { matches: await listPackages(source, parts, sortOf(order), stretch), parts, searchedFor: null, unknown: null }
  const { unknown } = found
  return {
    matches: matches.slice(0, limit),
    hasNextPage: matches.length > limit,
    searchedFor: found.searchedFor,
    totalCount: () => countMatches(source, found.parts),
    didYouMean: async () => (unknown === null ? [] : suggestNames(source, unknown, reachesOf(parts))),
    facets: () => facetsOf(source, found.parts, searcher),
  }
}

/** What is found by words. `unknown`: what the packages would be called that the query as typed did not find. */
type Found = { matches: SearchMatch[]; parts: readonly [Selection, ...Selection[]]; searchedFor: string | null; unknown: string | null }
type Wanted = { query: string; order: SearchSort; stretch: Stretch }

async function findWords(source: Source, typed: WordParts, { query, order, stretch }: Wanted): Promise<Found> {
  const isRanked = order === 'relevance'
  const skipped = isRanked ? stretch.offset + (stretch.after ? readRank(stretch.after) : 0) : 0
  const wanted = isRanked ? skipped + stretch.limit : 0
  const ranked = await rankPackages(source, typed, Math.max(wanted, fewest))
  const corrected = await correct(source, typed, { query, ranked, limit: Math.max(wanted, fewest) })
  const parts = corrected?.parts ?? typed
  const best = corrected?.ranked ?? ranked
  return {
    parts,
    searchedFor: corrected?.query ?? null,
    unknown: ranked.length === 0 ? (typed[0].terms.names[0] ?? null) : null,
    matches: isRanked ? best.slice(skipped, wanted).map(matchFrom(skipped)) : await listPackages(source, parts, sortOf(order), stretch),
  }
}

type WordParts = readonly [WordSelection, ...WordSelection[]]

const isByWords = (parts: readonly [Selection, ...Selection[]]): parts is WordParts => parts.every(({ terms }) => terms !== null)

/** Enough to tell whether hardly anything is found (typos.ts). */
const fewest = 3

const sortOf = (order: SearchSort): ListSort => (order === 'relevance' ? 'updated' : order)

const matchFrom =
  (skipped: number) =>
  ({ id, name, score }: Ranked, index: number): SearchMatch => ({ id, name, score, cursor: writeCursor(skipped + index + 1) })

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
  searchedFor: null,
  totalCount: async () => 0,
  didYouMean: async () => [],
  facets: async () => ({ facets: [], isExact: true }),
}
