import { dialectOf, isWithin } from '../dialects.ts'
import { byPopularity } from '../ranking.ts'
import { signalOf } from '../relevance.ts'
import { reachOf, type Searcher, type Source } from '../selection.ts'
import { type ApiSymbol, matchOutline, type SymbolWord, symbolWords } from './match.ts'
import { type marks, maxParts, symbolTerm, unpackOutline } from './outline.ts'

/** A symbol, and the package that declares it. */
export type FoundSymbol = ApiSymbol & { packageId: string; packageName: string }

/** The best matches, best first. `isComplete`: whether they are all. */
type FoundSymbols = { symbols: FoundSymbol[]; isComplete: boolean }

/** Maximum number of results, over all pages. */
export const maxSymbols = 200

/**
 * Returns the best matches among the latest versions of the listed packages that the caller can see: `limit` or more, up to `maxSymbols`, where there are
 * so many. Exact names come first, then types, then members, each with popular packages first. Runs at most two statements, and reads a bounded number
 * of packages.
 */
export async function findSymbols(source: Source, searcher: Searcher, query: string, limit: number): Promise<FoundSymbols> {
  const words = symbolWords(query)
  if (!words) return { symbols: [], isComplete: true }
  const exact = await findIn(source, searcher, exactMatches(words), words, true)
  const areOnlyExact = words.every(({ whole }) => whole.length < 2)
  if (areOnlyExact || exact.length >= Math.min(limit, maxSymbols)) return { symbols: exact.slice(0, maxSymbols), isComplete: areOnlyExact }
  const others = await findIn(source, searcher, partialMatches(words), words, false)
  return { symbols: [...exact, ...others].slice(0, maxSymbols), isComplete: true }
}

/** A condition on the terms of a package: all of the groups, each of which is a list of alternatives. */
type Condition = readonly (readonly Term[])[]
type Term = { mark: keyof typeof marks; text: string; isPrefix: boolean }

/** Conditions for exact matches, best first: a declaration or a member with the name. Two words are a type and its member, or one name. */
function exactMatches(words: readonly SymbolWord[]): Condition[] {
  const named = (text: string, ...of: Term['mark'][]) => of.map((mark) => ({ mark, text, isPrefix: false }))
  const joined = words.map(({ whole }) => whole).join('')
  if (words.length === 1) return [[named(joined, 'type')], [named(joined, 'member')]]
  return [[named(joined, 'type', 'member')], words.map(({ whole }) => named(whole, 'type', 'member', 'package'))]
}

/** Conditions for other matches: names that start with the words, or whose words do. */
function partialMatches(words: readonly SymbolWord[]): Condition[] {
  // Single letters are in nearly every package.
  const parts = words.flatMap((word) => word.parts.filter((part) => part.length > 1 || word.parts.length === 1))
  const starting = (text: string, ...of: Term['mark'][]) => of.map((mark) => ({ mark, text, isPrefix: true }))
  const inTypes = parts.map((part) => starting(part, 'type', 'inType'))
  if (words.length === 1) return [inTypes, parts.map((part) => starting(part, 'member', 'inMember'))]
  const named = parts.map((part): Term => ({ mark: 'package', text: part, isPrefix: false }))
  return [
    inTypes,
    parts.map((part, index) => [...starting(part, 'type', 'inType', 'member', 'inMember'), ...named.slice(index, index + 1)]),
  ]
}

type Count = number | string
type Row = { id: string; name: string; outline: Uint8Array; dependents: Count; likes: Count; downloads: Count }

async function findIn(
  source: Source,
  searcher: Searcher,
  conditions: readonly Condition[],
  words: readonly SymbolWord[],
  isExact: boolean,
): Promise<FoundSymbol[]> {
  const matches = (await readOutlines(source, searcher, conditions)).flatMap(({ id, name, outline, ...counts }) => {
    const popularity = popularityOf(counts, searcher)
    return matchOutline(unpackOutline(outline), name, words, isExact).map(({ symbol, score }) => ({
      symbol: { ...symbol, packageId: id, packageName: name },
      score: score + popularity,
    }))
  })
  return matches.toSorted(compare).map(({ symbol }) => symbol)
}

type Scored = { symbol: FoundSymbol; score: number }
const compare = ({ score, symbol: a }: Scored, { score: other, symbol: b }: Scored) =>
  other - score ||
  a.name.length - b.name.length ||
  compareTexts(a.packageName, b.packageName) ||
  compareTexts(a.parent ?? '', b.parent ?? '') ||
  compareTexts(a.name, b.name)
const compareTexts = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)

/** Popularity from 0 to 0.5. Anonymous callers must not learn download counts, or which private packages depend on a package. */
const popularityOf = ({ dependents, likes, downloads }: Pick<Row, 'dependents' | 'likes' | 'downloads'>, searcher: Searcher): number =>
  signalOf({ dependents: Number(dependents), likes: Number(likes), ...(searcher && { downloads: Number(downloads) }) }) / 2

/** Maximum number of parts of outlines per condition. */
const maxRead = 40

/** Reads the parts of outlines that meet a condition, of the most popular packages first. */
async function readOutlines({ reads, backend }: Source, searcher: Searcher, conditions: readonly Condition[]): Promise<Row[]> {
  const reach = reachOf(searcher)
  const { symbols, narrow } = dialectOf(backend)
  const each = conditions.map((condition, index) => {
    const { sql, parameters } = symbols(
      condition.map((group) => group.map(({ mark, text, isPrefix }) => ({ term: symbolTerm(mark, text), isPrefix }))),
    )
    const found = `select m.id from (${sql}) m join package_search_documents d${narrow} on d.id = m.id / ${maxParts} where ${isWithin[reach]}`
    return { sql: `select * from (${found} order by ${byPopularity(reach)} limit ${maxRead}) k${index}`, parameters }
  })
  return reads.all<Row>(
    `select d.package_id as id, d.name, s.outline, ${reach === 'public' ? 'd.public_dependents' : 'd.dependents'} as dependents, d.likes, d.downloads
     from (${each.map(({ sql }) => sql).join(' union ')}) c
     join package_search_symbols s on s.id = c.id join package_search_documents d on d.id = s.document_id`,
    ...each.flatMap(({ parameters }) => parameters),
  )
}
