import { readRank, writeCursor } from './cursor.ts'
import { dialectOf, type Breadth } from './dialects.ts'
import { type Source } from './source.ts'
import { documentConditions, type SearchMatch, type Stretch } from './listing.ts'
import type { Selection } from './selection.ts'
import type { QueryTerms } from './terms.ts'

/** A selection by words, among other things. */
export type WordSelection = Selection & { terms: QueryTerms }

/**
 * The packages that match, best first. A weaker kind of match is asked for only when the better ones do not fill the page: the name itself
 * and names that begin so; words and parts of names; descriptions and topics; READMEs, the newest package first. Of those that fit about
 * as well, what is downloaded more comes first.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function rankPackages(source: Source, selection: WordSelection, { limit, offset, after }: Stretch): Promise<SearchMatch[]> {
  const skipped = offset + (after ? readRank(after) : 0)
  const wanted = skipped + limit
  const found = new Map<string, Found>()
  for (const kind of kindsOfMatch(source, selection)) {
    if (found.size >= wanted) break
    for (const match of await kind(wanted)) if (!found.has(match.id)) found.set(match.id, match)
  }
  return [...found.values()]
    .slice(skipped, wanted)
    .map(({ id, name, score }, index) => ({ id, name, score, cursor: writeCursor(skipped + index + 1) }))
}

/** The first names from one on and before another, with how much they are downloaded. */
export async function namesBetween(source: Source, selection: Selection, from: string, before: string, limit: number): Promise<NamedRow[]> {
  const { conditions, parameters } = documentConditions(source, selection)
  return source.heavyReads.all<NamedRow>(
    `select d.package_id as id, d.name, d.downloads from package_search_documents d
     where d.name >= ? and d.name < ? and ${conditions.join(' and ')} order by d.name limit ?`,
    from,
    before,
    ...parameters,
    limit,
  )
}

/** After every name that begins with the prefix: names are ASCII. */
export const afterPrefix = (prefix: string): string => `${prefix}~`

type NamedRow = { id: string; name: string; downloads: string | number }
type Found = NamedRow & { score: number }

function kindsOfMatch(source: Source, selection: WordSelection): ((limit: number) => Promise<Found[]>)[] {
  const byName = [
    async (limit: number) => inBlocks(await beginning(source, selection, wholeBlocks(limit))),
    async (limit: number) => inBlocks(await within(source, selection, 'name', wholeBlocks(limit))),
  ]
  if (selection.terms.namesOnly) return byName
  return [
    ...byName,
    async (limit) => inBlocks(await within(source, selection, 'brief', wholeBlocks(limit))),
    (limit) => anywhere(source, selection, limit),
  ]
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
