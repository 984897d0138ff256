import { isCommon, matchedDocuments, scannedDocuments } from './listing.ts'
import { flags, type Searcher, type Selection, selectionOf, type Source } from './selection.ts'
import { type Filter, filters } from './tags.ts'

/** `values`: most frequent first. */
export type Facet = { filter: Filter | 'score'; values: FacetValue[] }
export type FacetValue = { value: string; count: number }

/** `isExact`: all matches were counted. Otherwise only the first 1,000 were. */
export type Facets = { facets: Facet[]; isExact: boolean }

/**
 * Counts filter values among the matches that the searcher can see. Returns at most ten values per filter. Values of every match are omitted, because
 * they cannot narrow the search, except values that the query uses.
 */
export async function facetsOf(source: Source, selection: Selection, searcher: Searcher): Promise<Facets> {
  const { tags, scores, isExact } = await sample(source, selection)
  const counts = countTags(tags).set('score', countScores(scores))
  const shown = ['sdk', 'platform', 'publisher', 'topic', 'license', 'score', ...(searcher ? (['is'] as const) : [])] as const
  const used = new Set<string>(selection.all.flat())
  const divides = (filter: Facet['filter'], { value, count }: FacetValue) =>
    count < tags.length || (filter === 'score' ? selection.scores.length > 0 : used.has(`${filter}:${value}`))
  const facets = shown.map((filter) => ({
    filter,
    values: (counts.get(filter) ?? []).filter((value) => divides(filter, value)).slice(0, maxValues),
  }))
  return { facets: facets.filter(({ values }) => values.length > 0), isExact }
}

/** A completion of a query: the whole completed query, or a package name. `count`: the number of packages that have the added value, if known. */
export type Completion = { query: string; label: string; count: number | null; isPackage?: boolean }

/** Completes the last word of a query to filter names or filter values. Returns an empty list when no filter starts with that word. */
export async function completeFilters(source: Source, searcher: Searcher, query: string, limit: number): Promise<Completion[]> {
  const [, before = '', sign = '', filter, partial = ''] = lastWord.exec(query.slice(0, 1000)) ?? []
  const typed = partial.toLowerCase()
  const completion = (label: string, count: number | null) => ({ query: `${before}${label}`, label, count })
  if (filter === undefined) {
    const offered =
      typed.length < 2 ? [] : [...filters, 'score' as const].filter((name) => name.startsWith(typed) && (searcher || name !== 'uploader'))
    return offered.slice(0, limit).map((name) => completion(`${sign}${name}:`, null))
  }
  const known = [...filters, 'score' as const].find((name) => name === filter.toLowerCase())
  if (!known) return []
  const values = await valuesOf(source, searcher, before, known)
  const fitting = values.filter(({ value }) => value.startsWith(typed)).slice(0, limit)
  return fitting.map(({ value, count }) => completion(`${sign}${known}:${value}`, count))
}

const maxSampled = 1000
const maxValues = 10
const lastWord = /^(.*?(?:^|\s))(-?)(?:([a-z]+):"?)?([^\s":]*)$/is

/** Returns the tags and scores of up to 1,000 selected packages. */
async function sample(source: Source, selection: Selection): Promise<{ tags: string[]; scores: number[]; isExact: boolean }> {
  const { sql, parameters, conditions } = (await isCommon(source, selection))
    ? scannedDocuments(source, selection)
    : matchedDocuments(source, selection)
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  const select = `select d.tags, d.score from ${sql} ${where} limit ${maxSampled + 1}`
  const rows = await source.reads.all<{ tags: string; score: number }>(select, ...parameters)
  const first = rows.slice(0, maxSampled)
  return { tags: first.map(({ tags }) => tags), scores: first.map(({ score }) => score), isExact: rows.length <= maxSampled }
}

/** Counts packages by minimum score, in steps such as `>=90`. */
function countScores(scores: number[]): FacetValue[] {
  const counts = scoreSteps.map((least) => ({ value: `>=${least}`, count: scores.filter((score) => score >= least).length }))
  return counts.filter(({ count }) => count > 0)
}
const scoreSteps = [90, 70, 50]

const filterOf = (tag: string) => tag.slice(0, tag.indexOf(':'))

function countTags(tags: string[]): Map<string, FacetValue[]> {
  const counts = new Map<string, number>()
  for (const tag of tags.flatMap((text) => text.trim().split(' '))) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  const values = Array.from(counts, ([tag, count]) => ({
    filter: filterOf(tag),
    value: tag.slice(tag.indexOf(':') + 1),
    count,
  }))
  const sorted = values.toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
  return Map.groupBy(sorted, ({ filter }) => filter)
}

/** Returns the values of a filter among the packages that match the rest of the query. */
async function valuesOf(
  source: Source,
  searcher: Searcher,
  rest: string,
  filter: Facet['filter'],
): Promise<{ value: string; count: number | null }[]> {
  if (filter === 'uploader') return searcher ? [{ value: 'me', count: null }] : []
  const selection = await selectionOf(source, rest, searcher)
  const sampled = selection ? await sample(source, selection) : { tags: [], scores: [] }
  const counted = filter === 'score' ? countScores(sampled.scores) : (countTags(sampled.tags).get(filter) ?? [])
  if (filter !== 'is' || !searcher) return counted
  const seen = new Set(counted.map(({ value }) => value))
  return [...counted, ...[...flags].filter((flag) => !seen.has(flag)).map((value) => ({ value, count: null }))]
}
