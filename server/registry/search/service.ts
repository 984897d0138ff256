import type { Services } from '../../services.ts'
import { invalidInput } from '../../errors.ts'
import type { Direction } from '../../platform/graphql/connections.ts'
import type { Here } from '../packages/hosting.ts'
import { dialectOf } from './dialects.ts'
import { completeFilters, type Completion, type Facets, facetsOf } from './facets.ts'
import {
  countMatches,
  type ListOrder,
  listMatches,
  type ListRange,
  type ListSort,
  readRank,
  type SearchMatch,
  writeCursor,
} from './listing.ts'
import { completeIn, countSelections, type Ranked, rankPackages, type WordSelection } from './ranking.ts'
import {
  everything,
  parseQuery,
  type Searcher,
  type Selection,
  selectionOf,
  type Source,
  withoutForeignFilters,
  withPartlyPublic,
} from './selection.ts'
import { type QueryTerms, queryTerms } from './terms.ts'
import { correct, type Instead, leaveOut, suggestNames } from './typos.ts'

export type SearchSort = 'relevance' | ListSort

export type SearchRequest = {
  /** The caller, or null for an anonymous caller. */
  searcher: Searcher
  here: Here
  /** The query as typed. A blank query selects all packages. */
  query?: string | null | undefined
  /** Defaults to relevance, or to the update time for a query without words. */
  sort?: SearchSort | null | undefined
  /** Defaults to that of the order. Relevance takes none. */
  direction?: Direction | null | undefined
  limit: number
  offset?: number | null | undefined
  /** Cursor of the match before the first one to return. */
  after?: string | null | undefined
}

export type SearchPage = {
  matches: SearchMatch[]
  hasNextPage: boolean
  /** The corrected or shortened query that was used instead; null if the query was used as typed. */
  searchedFor: string | null
  /** The words that were searched for, or null. */
  terms: QueryTerms | null
  totalCount: () => Promise<number>
  /** Similar package names, when the query as typed has no matches. */
  didYouMean: () => Promise<string[]>
  /** Filters that could narrow the search, with counts. */
  facets: () => Promise<Facets>
}

/**
 * Searches packages with a bounded number of reads, independent of the number of packages. Counting takes one more read. If the query has hardly any
 * matches, the search corrects one typing mistake.
 * @throws ApiError InvalidInput for a cursor of another search, or a direction of relevance.
 */
export async function searchPackages(
  source: Source,
  { searcher, here, query: typed, sort, direction, limit, offset, after }: SearchRequest,
): Promise<SearchPage> {
  const query = withoutForeignFilters(typed ?? '')
  const wanted = await selectionOf(source, query, searcher)
  if (!wanted) return nothing
  const selection = withPartlyPublic(wanted, here)
  const range = { limit: limit + 1, offset: offset ?? 0, after }
  const order = sort ?? (selection.terms ? 'relevance' : 'updated')
  if (order === 'relevance' && direction) throw invalidInput('direction: needs an orderBy other than RELEVANCE.', 'direction')
  const listOrder = { sort: order === 'relevance' ? 'updated' : order, direction } as const
  const { matches, ...found } = isByWords(selection)
    ? await findWords(source, selection, { query, listOrder, isRanked: order === 'relevance', range })
    : { matches: await listMatches(source, selection, listOrder, range), selection, searchedFor: null, unknown: null }
  const { unknown } = found
  return {
    matches: matches.slice(0, limit),
    hasNextPage: matches.length > limit,
    searchedFor: found.searchedFor ?? (query === (typed ?? '') ? null : query),
    terms: found.selection.terms,
    totalCount: () => countMatches(source, found.selection),
    didYouMean: async () => (unknown === null ? [] : suggestNames(source, unknown, selection.reach)),
    facets: () => facetsOf(source, found.selection, searcher),
  }
}

/** The result of a search by words. `unknown`: the package name that the query spells, if the query as typed has no matches. */
type Found = { matches: SearchMatch[]; selection: Selection; searchedFor: string | null; unknown: string | null }
type WordQuery = { query: string; isRanked: boolean; listOrder: ListOrder; range: ListRange }

async function findWords(source: Source, typed: WordSelection, { query, isRanked, listOrder, range }: WordQuery): Promise<Found> {
  const skipped = isRanked ? range.offset + (range.after ? readRank(range.after) : 0) : 0
  const wanted = isRanked ? skipped + range.limit : 0
  const { selection, query: searchedFor, matches, isUnknown } = await findBest(source, typed, query, { isRanked, limit: wanted })
  return {
    selection,
    searchedFor: searchedFor === query ? null : searchedFor,
    unknown: isUnknown ? (typed.terms.names[0] ?? null) : null,
    matches: isRanked ? matches.slice(skipped, wanted).map(matchFrom(skipped)) : await listMatches(source, selection, listOrder, range),
  }
}

/** The best matches, and the selection and query that they belong to. `isUnknown`: the query as typed has no matches. */
type Best = Instead & { matches: readonly Ranked[]; isUnknown: boolean }

/** Ranks the matches of a query. Corrects misspelled words if hardly anything matches, and leaves out words if nothing matches. */
async function findBest(source: Source, typed: WordSelection, query: string, options: { isRanked: boolean; limit: number }): Promise<Best> {
  const limit = Math.max(options.limit, minMatches)
  const asTyped = { selection: typed, query }
  if (!options.isRanked && (await hasMatches(source, typed))) return { ...asTyped, matches: [], isUnknown: false }
  const matches = await rankPackages(source, typed, limit)
  const best: Best = { ...asTyped, matches, isUnknown: matches.length === 0 }
  if (matches.length >= minMatches || matches.some(({ isOnlyMentioned }) => !isOnlyMentioned)) return best
  const corrected = await correct(source, typed, query)
  const found = corrected ? await rankPackages(source, corrected.selection, limit) : []
  if (corrected && found.length > matches.length) return { ...best, ...corrected, matches: found }
  // All parts of a name are required.
  if (!best.isUnknown || isPartOfName.test(parseQuery(query).text)) return best
  const shorter = await leaveOut(source, corrected ?? asTyped)
  const others = shorter ? await rankPackages(source, shorter.selection, limit) : []
  // A single word in a README is not enough.
  const isEnough = others.some(({ isOnlyMentioned }) => !isOnlyMentioned) || (shorter?.selection.terms.words.length ?? 0) > 1
  return shorter && isEnough ? { ...best, ...shorter, matches: others } : best
}

const isPartOfName = /\w_\w/

/** Returns whether enough packages contain all words in their short texts. */
async function hasMatches(source: Source, selection: WordSelection): Promise<boolean> {
  const [count = 0] = await countSelections(source, [selection], selection.terms.namesOnly ? 'name' : 'brief')
  return count >= minMatches
}

const isByWords = (selection: Selection): selection is WordSelection => selection.terms !== null

/** Number of matches with which a query is not corrected (typos.ts). */
const minMatches = 3

const matchFrom =
  (skipped: number) =>
  ({ id, name, score }: Ranked, index: number): SearchMatch => ({ id, name, score, cursor: writeCursor(skipped + index + 1) })

/** Returns the first package names that start with `prefix`, in order, among the packages that the caller can find. */
export async function completeNames(source: Source, searcher: Searcher, prefix: string, limit: number): Promise<string[]> {
  if (!/^\w+$/.test(prefix)) return []
  return completeIn(source, everything(searcher), prefix, limit)
}

/** Completes an unfinished query: package names while the query is a single word, and filters with their values. The cost is bounded. */
export async function completeQuery(source: Source, searcher: Searcher, query: string, limit: number): Promise<Completion[]> {
  const names = await completeNames(source, searcher, query.trim().toLowerCase(), limit)
  const filters = await completeFilters(source, searcher, query, limit)
  return [...filters, ...names.map((name) => ({ query: name, label: name, count: null, isPackage: true }))].slice(0, limit)
}

/** The result of a query that contains only punctuation. */
const nothing: SearchPage = {
  matches: [],
  hasNextPage: false,
  searchedFor: null,
  terms: null,
  totalCount: async () => 0,
  didYouMean: async () => [],
  facets: async () => ({ facets: [], isExact: true }),
}

/** Returns whether the search index is complete. Throws the database's error when the index cannot be queried. */
export async function checkSearch({ database, state }: Pick<Services, 'database' | 'state'>): Promise<'ok' | 'initializing'> {
  const { reads, backend } = database
  const selection = { ...everything(null), terms: queryTerms('health check') }
  for (const breadth of ['full', 'brief'] as const) {
    const { sql, parameters } = dialectOf(backend).matching(selection, breadth)
    await reads.all(`select id from (${sql}) m limit 1`, ...parameters)
  }
  return state.isIndexing ? 'initializing' : 'ok'
}
