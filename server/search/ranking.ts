import { readRank, writeCursor } from './cursor.ts'
import { type Breadth, dialectOf, documentsOf } from './dialects.ts'
import { documentConditions, type SearchMatch, type Stretch } from './listing.ts'
import type { Selection, Source } from './selection.ts'
import type { QueryTerms } from './terms.ts'

/** A selection by words, among other things. */
export type WordSelection = Selection & { terms: QueryTerms }

/**
 * The packages that match in any part, best first. A weaker kind of match is asked for only when the better ones do not fill the page: the name itself
 * and names that begin so; words and parts of names; descriptions and topics; READMEs, the newest package first. Of those that fit about
 * as well, what is downloaded more comes first.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function rankPackages(
  source: Source,
  parts: readonly WordSelection[],
  { limit, offset, after }: Stretch,
): Promise<SearchMatch[]> {
  const skipped = offset + (after ? readRank(after) : 0)
  const wanted = skipped + limit
  const found = new Map<string, Found>()
  for (const kind of kindsOfMatch(source, parts)) {
    if (found.size >= wanted) break
    for (const match of await kind(wanted)) if (!found.has(match.id)) found.set(match.id, match)
  }
  return [...found.values()]
    .slice(skipped, wanted)
    .map(({ id, name, score }, index) => ({ id, name, score, cursor: writeCursor(skipped + index + 1) }))
}

/** The first names that begin so, in order, of what any part selects. */
export async function completeIn(source: Source, parts: readonly Selection[], prefix: string, limit: number): Promise<string[]> {
  const rows = await inAll(parts, limit, byName, (part) => namesBetween(source, part, prefix, afterPrefix(prefix), limit))
  return rows.map(({ name }) => name)
}

/** The first names from one on and before another, with how much they are downloaded. */
async function namesBetween(source: Source, selection: Selection, from: string, before: string, limit: number): Promise<NamedRow[]> {
  const { conditions, parameters } = documentConditions(source, selection)
  return source.heavyReads.all<NamedRow>(
    `select d.package_id as id, d.name, d.downloads from ${documentsOf(selection.reach)} d
     where d.name >= ? and d.name < ? and ${conditions.join(' and ')} order by d.name limit ?`,
    from,
    before,
    ...parameters,
    limit,
  )
}

/** After every name that begins with the prefix: names are ASCII. */
const afterPrefix = (prefix: string): string => `${prefix}~`

type NamedRow = { id: string; name: string; downloads: string | number }
type Found = NamedRow & { score: number }

type Order = (a: NamedRow, b: NamedRow) => number

function kindsOfMatch(source: Source, parts: readonly WordSelection[]): ((limit: number) => Promise<Found[]>)[] {
  const blocks = (order: (a: Found, b: Found) => number, find: (part: WordSelection, limit: number) => Promise<Found[]>) => {
    return async (limit: number) => inBlocks(await inAll(parts, wholeBlocks(limit), order, (part) => find(part, wholeBlocks(limit))))
  }
  const inNames = [
    blocks(byName, (part, limit) => beginning(source, part, limit)),
    blocks(byScore, (part, limit) => within(source, part, 'name', limit)),
  ]
  if (parts.some(({ terms }) => terms.namesOnly)) return inNames
  return [
    ...inNames,
    blocks(byScore, (part, limit) => within(source, part, 'brief', limit)),
    (limit) => inAll(parts, limit, byScore, (part) => anywhere(source, part, limit)),
  ]
}

const byName: Order = (a, b) => (a.name < b.name ? -1 : 1)
const byScore = (a: Found, b: Found) => b.score - a.score

/** The first ones that any part has: of those that the order does not tell apart, the ones of the first part come before. */
async function inAll<Part, Row>(
  parts: readonly Part[],
  limit: number,
  order: (a: Row, b: Row) => number,
  find: (part: Part) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[][] = []
  for (const part of parts) found.push(await find(part))
  return found.length === 1 ? found.flat() : found.flat().toSorted(order).slice(0, limit)
}

async function beginning(source: Source, selection: WordSelection, limit: number): Promise<Found[]> {
  const { name } = selection.terms
  // With filters, walking the names would cost more than the index, which finds the same by the words of the names.
  const before = selection.all.length > 0 || selection.scores.length > 0 ? `${name} ` : afterPrefix(name)
  const rows = await namesBetween(source, selection, name, before, limit)
  return rows.map((row) => ({ ...row, score: row.name === name ? 1 : 0.9 }))
}

async function within({ heavyReads, backend }: Source, selection: Selection, breadth: Breadth, limit: number): Promise<Found[]> {
  const { sql, parameters } = dialectOf(backend).ranked(selection, breadth, limit)
  const rows = await heavyReads.all<Found>(sql, ...parameters)
  return rows.map((row) => ({ ...row, score: (breadth === 'name' ? 0.6 : 0.3) + 0.25 * row.score }))
}

/** Sorted by their numbers alone, so that the database need not look at every match. */
async function anywhere({ heavyReads, backend }: Source, selection: Selection, limit: number): Promise<Found[]> {
  const { sql, parameters } = dialectOf(backend).newest(selection, limit)
  return (await heavyReads.all<NamedRow>(sql, ...parameters)).map((row) => ({ ...row, downloads: 0, score: 0.1 }))
}

const block = 200

/** Matches are loaded a block at a time and sorted within it, so that they stand in the same place whatever page is asked for. */
const wholeBlocks = (limit: number) => Math.ceil(limit / block) * block

/** Puts what is downloaded more before what fits about as well. */
function inBlocks(matches: Found[]): Found[] {
  const rank = ({ score }: Found) => Math.round(score * 50)
  const blocks = Array.from({ length: Math.ceil(matches.length / block) }, (_, index) => matches.slice(index * block, (index + 1) * block))
  return blocks.flatMap((some) =>
    some.toSorted((a, b) => rank(b) - rank(a) || Number(b.downloads) - Number(a.downloads) || b.score - a.score),
  )
}
