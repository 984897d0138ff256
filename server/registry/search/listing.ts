import type { Parameter } from '../../platform/db/reads.ts'
import { invalidInput } from '../../errors.ts'
import type { Direction } from '../../platform/graphql/connections.ts'
import { dialectOf, foundByName, isWithin, scoreConditions, type Statement } from './dialects.ts'
import type { Selection, Source } from './selection.ts'
import { z } from 'zod'

/** A matching package. `score`: relevance from 0 (unranked) to 1 (exact name match). */
export type SearchMatch = { id: string; name: string; score: number; cursor: string }

export type ListSort = keyof typeof orders

/** A sort order; `direction` is that of the order by default. */
export type ListOrder = { sort: ListSort; direction?: Direction | null | undefined }

export type ListRange = { limit: number; offset: number; after?: string | null | undefined }

/**
 * Lists the selected packages, sorted by time or number (descending by default) or by name.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function listMatches(
  source: Source,
  selection: Selection,
  order: ListOrder,
  { limit, offset, after }: ListRange,
): Promise<SearchMatch[]> {
  // A keyset cursor would reveal downloads and the number of packages to anonymous callers, so their cursors only contain an offset.
  if (selection.reach !== 'public') {
    const rows = await listRows(source, selection, order, { limit, offset, after })
    return rows.map((row) => matchOf(row, placeOf(order.sort, row.key, row.document)))
  }
  const skipped = offset + (after ? readRank(after) : 0)
  const rows = await listRows(source, selection, order, { limit, offset: skipped })
  return rows.map((row, index) => matchOf(row, skipped + index + 1))
}

const matchOf = ({ id, name }: Row, position: Place | number): SearchMatch => ({ id, name, score: 0, cursor: writeCursor(position) })

async function listRows(source: Source, selection: Selection, order: ListOrder, { limit, offset, after }: ListRange): Promise<Row[]> {
  const { sort } = order
  const direction = order.direction ?? orders[sort].direction
  // Packages that are found by name only have no value, because their dates and counts include those of hidden versions.
  const column =
    selection.byName && sort !== 'name' ? `case when d.shown_to = 2 then ${orders[sort].column} else -1 end` : orders[sort].column
  const place = after ? readPlace(after, sort === 'name' || sort === 'score' ? sort : 'number') : []
  const inOrder = `order by ${column} ${direction}, d.id ${direction}`
  const beyondPlace = after ? [`(${column}, d.id) ${direction === 'asc' ? '>' : '<'} (?, ?)`] : []
  async function read({ sql, parameters, conditions }: Documents): Promise<Row[]> {
    return source.reads.all<Row>(
      `select d.package_id as id, d.name, ${column} as key, d.id as document from ${sql} ${whereAll(conditions)} ${inOrder} limit ? offset ?`,
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
    const first = `select * from package_search_documents d ${whereAll([isWithin[selection.reach], ...beyondPlace])} ${inOrder} limit ?`
    const parameters = [...place, 10 * (limit + offset), ...all.parameters]
    const found = await read({ sql: `(${first}) d`, conditions: all.conditions, parameters })
    if (found.length === limit) return found
  }
  const { sql, parameters } = foundDocuments(source, selection)
  return read({
    sql: `(${sql}) m join package_search_documents d on d.id = m.id`,
    conditions: beyondPlace,
    parameters: [...parameters, ...place],
  })
}

type Row = { id: string; name: string; key: string | number; document: string | number }

/** A table of documents `d` with conditions on them. Parameters are in the order of the table's and then the conditions' placeholders. */
type Documents = { sql: string; conditions: readonly string[]; parameters: readonly Parameter[] }

const whereAll = (conditions: readonly string[]) => (conditions.length > 0 ? `where ${conditions.join(' and ')}` : '')

export async function countMatches(source: Source, selection: Selection): Promise<number> {
  const { sql, parameters } = isAll(selection) ? dialectOf(source.backend).everything(selection.reach) : foundDocuments(source, selection)
  const row = await source.reads.get<{ total: string | number }>(`select count(*) as total from (${sql}) m`, ...parameters)
  return Number(row?.total ?? 0)
}

/** Returns the ids of the selected documents, including those found by name only. */
function foundDocuments({ backend }: Source, selection: Selection): Statement {
  const dialect = dialectOf(backend)
  const found = dialect.matching(selection, breadthOf(selection))
  const byName = foundByName(dialect, selection)
  if (!byName) return found
  return { sql: `${found.sql} union all select d.id from ${byName.sql}`, parameters: [...found.parameters, ...byName.parameters] }
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

/** Returns the selected documents as a table `d`, using the term index. Without those found by name only, whose tags must not be shown. */
export function matchedDocuments({ backend }: Source, selection: Selection): Statement & { conditions: string[] } {
  const { sql, parameters } = dialectOf(backend).matching(selection, breadthOf(selection))
  return { sql: `(${sql}) m join package_search_documents d on d.id = m.id`, parameters, conditions: [] }
}

/** Returns all documents in sort order, filtered row by row. Efficient when many documents match. */
export function scannedDocuments(source: Source, selection: Selection): Statement & { conditions: string[] } {
  return { sql: 'package_search_documents d', ...documentConditions(source, selection) }
}

const orders = {
  updated: { column: 'd.updated_at', direction: 'desc' },
  published: { column: 'd.published_at', direction: 'desc' },
  created: { column: 'd.created_at', direction: 'desc' },
  downloads: { column: 'd.downloads', direction: 'desc' },
  likes: { column: 'd.likes', direction: 'desc' },
  score: { column: 'd.score', direction: 'desc' },
  name: { column: 'd.name', direction: 'asc' },
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

const readPlace = (cursor: string, by: keyof typeof keys): Place => read(cursor, z.tuple([keys[by], number]))

/** Decodes a cursor that contains an offset. @throws ApiError InvalidInput when the cursor is of another kind. */
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
