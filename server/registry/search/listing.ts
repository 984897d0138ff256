import type { Parameter } from '../../platform/db/reads/reads.ts'
import { invalidInput } from '../../errors.ts'
import { dialectOf, documentsOf, isWithin, scoreConditions, type Statement } from './dialects.ts'
import type { Selection, Source } from './selection.ts'
import { z } from 'zod'

/** A matching package. `score`: relevance from 0 (unranked) to 1 (exact name match). */
export type SearchMatch = { id: string; name: string; score: number; cursor: string }

export type ListSort = keyof typeof orders

/** A range of a list: page size, offset and cursor. */
export type ListRange = { limit: number; offset: number; after?: string | null | undefined }

/**
 * Lists the packages that match any of the given selections, sorted by time or number (descending) or by name.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function listPackages(
  source: Source,
  [whole, excerpts]: readonly [Selection, ...Selection[]],
  sort: ListSort,
  { limit, offset: skipped, after }: ListRange,
): Promise<SearchMatch[]> {
  // A keyset cursor would reveal downloads and the number of packages to anonymous callers, so their cursors only contain an offset.
  if (whole.reach !== 'public') {
    const rows = await listRows(source, whole, sort, { limit, offset: skipped, after })
    return rows.map((row) => matchOf(row, placeOf(sort, row.key, row.document)))
  }
  const offset = skipped + (after ? readRank(after) : 0)
  const some = excerpts ? await listRows(source, excerpts, sort, { limit: offset + limit, offset: 0 }) : []
  // Up to `excerpts.length` rows of the merged list before `offset` may be excerpts, so start reading full documents that much earlier.
  const early = Math.min(offset, some.length)
  const rows = await listRows(source, whole, sort, { limit: limit + early, offset: offset - early })
  const merged = some.length === 0 ? rows : [...rows, ...some].toSorted(orderOf(sort)).slice(early, early + limit)
  return merged.map((row, index) => matchOf(row, offset + index + 1))
}

const matchOf = ({ id, name }: Row, position: Place | number): SearchMatch => ({ id, name, score: 0, cursor: writeCursor(position) })

/** Compares rows in database order. Plain comparison is sufficient because names are ASCII. */
function orderOf(sort: ListSort): (a: Row, b: Row) => number {
  const sign = orders[sort].direction === 'desc' ? -1 : 1
  const compare = <Key>(a: Key, b: Key) => (a < b ? -1 : a > b ? 1 : 0)
  return (a, b) =>
    sign * ((sort === 'name' ? compare(a.key, b.key) : Number(a.key) - Number(b.key)) || Number(a.document) - Number(b.document))
}

async function listRows(source: Source, selection: Selection, sort: ListSort, { limit, offset, after }: ListRange): Promise<Row[]> {
  const { column, direction, beyond } = orders[sort]
  const place = after ? readPlace(after, sort === 'name' || sort === 'score' ? sort : 'number') : []
  const order = `order by ${column} ${direction}, d.id ${direction}`
  const beyondPlace = after ? [`(${column}, d.id) ${beyond} (?, ?)`] : []
  async function read({ sql, parameters, conditions }: Documents): Promise<Row[]> {
    return source.reads.all<Row>(
      `select d.package_id as id, d.name, ${column} as key, d.id as document from ${sql} ${whereAll(conditions)} ${order} limit ? offset ?`,
      ...parameters,
      limit,
      offset,
    )
  }

  const all = scannedDocuments(source, selection)
  if (isAll(selection)) return read({ ...all, conditions: [...all.conditions, ...beyondPlace], parameters: [...all.parameters, ...place] })
  if (!selection.terms) {
    // If at least a tenth of all packages have the tags, scanning ten times the page size in sort order fills a page, which is cheaper than sorting
    // all matches.
    const first = `select * from ${documentsOf(selection.reach)} d ${whereAll([isWithin[selection.reach], ...beyondPlace])} ${order} limit ?`
    const parameters = [...place, 10 * (limit + offset), ...all.parameters]
    const found = await read({ sql: `(${first}) d`, conditions: all.conditions, parameters })
    if (found.length === limit) return found
  }
  const { sql, parameters } = matchedDocuments(source, selection)
  return read({ sql, conditions: beyondPlace, parameters: [...parameters, ...place] })
}

type Row = { id: string; name: string; key: string | number; document: string | number }

/** A table of documents `d` with conditions on them. Parameters are in the order of the table's and then the conditions' placeholders. */
type Documents = { sql: string; conditions: readonly string[]; parameters: readonly Parameter[] }

const whereAll = (conditions: readonly string[]) => (conditions.length > 0 ? `where ${conditions.join(' and ')}` : '')

/** Counts the packages that match any of the given selections. */
export async function countMatches({ reads, backend }: Source, parts: readonly Selection[]): Promise<number> {
  const dialect = dialectOf(backend)
  let total = 0
  for (const part of parts) {
    const { sql, parameters } = isAll(part) ? dialect.everything(part.reach) : dialect.matching(part, breadthOf(part))
    const row = await reads.get<{ total: string | number }>(`select count(*) as total from (${sql}) m`, ...parameters)
    total += Number(row?.total ?? 0)
  }
  return total
}

/** Returns the conditions on a document `d` other than search words: visibility, tags and score. */
export function documentConditions(
  { backend }: Source,
  { reach, all, none, scores }: Selection,
): { conditions: string[]; parameters: Parameter[] } {
  const { hasTag } = dialectOf(backend)
  return {
    conditions: [
      isWithin[reach],
      ...all.map((tags) => `(${tags.map(() => hasTag).join(' or ')})`),
      ...none.map(() => `not ${hasTag}`),
      ...scoreConditions(scores),
    ],
    parameters: [...all.flat(), ...none].map((tag) => ` ${tag} `),
  }
}

/** Returns the selected documents as a table `d`, using the term index. */
export function matchedDocuments({ backend }: Source, selection: Selection): Statement & { conditions: string[] } {
  const { sql, parameters } = dialectOf(backend).matching(selection, breadthOf(selection))
  return { sql: `(${sql}) m join ${documentsOf(selection.reach)} d on d.id = m.id`, parameters, conditions: [] }
}

/** Returns all documents in sort order, filtered row by row. Efficient when many documents match. */
export function scannedDocuments(source: Source, selection: Selection): Statement & { conditions: string[] } {
  return { sql: `${documentsOf(selection.reach)} d`, ...documentConditions(source, selection) }
}

const orders = {
  updated: { column: 'd.updated_at', direction: 'desc', beyond: '<' },
  created: { column: 'd.created_at', direction: 'desc', beyond: '<' },
  downloads: { column: 'd.downloads', direction: 'desc', beyond: '<' },
  likes: { column: 'd.likes', direction: 'desc', beyond: '<' },
  score: { column: 'd.score', direction: 'desc', beyond: '<' },
  name: { column: 'd.name', direction: 'asc', beyond: '>' },
} as const

const breadthOf = ({ terms }: Selection) => (terms?.namesOnly ? 'name' : 'full')

const isAll = ({ terms, all, none, scores }: Selection) => !terms && all.length === 0 && none.length === 0 && scores.length === 0

/** Number of matches above which filtering in sort order is cheaper than sorting all matches. */
const manyMatches = 2000

/** Returns whether a selection has no search words and matches many packages. */
export async function isCommon({ reads, backend }: Source, selection: Selection): Promise<boolean> {
  if (selection.terms) return false
  if (isAll(selection)) return true
  const { sql, parameters } = dialectOf(backend).matching(selection, 'full')
  const row = await reads.get<{ total: string | number }>(`select count(*) as total from (${sql} limit ${manyMatches}) m`, ...parameters)
  return Number(row?.total) >= manyMatches
}

/** Returns the keyset position of a row. PostgreSQL returns large integers as strings, hence the conversions. */
const placeOf = (sort: ListSort, key: string | number, document: string | number): Place => [
  sort === 'name' ? key : Number(key),
  Number(document),
]

/** A keyset position in a sorted list: the value of the sort column, then the document id as tie-breaker. */
type Place = [key: string | number, document: number]

/** Encodes a keyset position, or the number of preceding matches, as an opaque cursor. */
export const writeCursor = (position: Place | number): string => Buffer.from(JSON.stringify(position)).toString('base64url')

/**
 * Decodes a keyset cursor.
 * @throws ApiError InvalidInput when the cursor does not belong to a list sorted this way.
 */
const readPlace = (cursor: string, by: keyof typeof keys): Place => read(cursor, z.tuple([keys[by], number]))

/**
 * Decodes a cursor that contains an offset.
 * @throws ApiError InvalidInput when the cursor is of another kind.
 */
export const readRank = (cursor: string): number => read(cursor, z.int32().nonnegative())

const number = z.int()
/** Scores are `smallint` in PostgreSQL, which rejects larger values in comparisons. */
const keys = { number, score: z.int().min(-1).max(100), name: z.stringFormat('name', /^\w{1,64}$/) }

function read<T>(cursor: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch {
    throw invalidInput('after: is not a cursor of this list.', 'after')
  }
}
