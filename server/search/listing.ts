import type { Parameter } from '../db/reads/reads.ts'
import { invalidInput } from '../errors.ts'
import { dialectOf, documentsOf, isWithin, scoreConditions, type Statement } from './dialects.ts'
import type { Selection, Source } from './selection.ts'
import { z } from 'zod'

/** A package that was found. `score`: from 0, when nothing was ranked, to 1 for the very name. */
export type SearchMatch = { id: string; name: string; score: number; cursor: string }

export type ListSort = keyof typeof orders

/** A stretch of a list. */
export type Stretch = { limit: number; offset: number; after?: string | null | undefined }

/**
 * What any part selects, sorted: by a moment or a number, the latest and the largest first, or by name.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function listPackages(
  source: Source,
  [whole, excerpts]: readonly [Selection, ...Selection[]],
  sort: ListSort,
  { limit, offset: skipped, after }: Stretch,
): Promise<SearchMatch[]> {
  // A place tells downloads, and how many packages there are: to whoever may not know either, a cursor is a number of matches.
  if (whole.reach !== 'public') {
    const rows = await listRows(source, whole, sort, { limit, offset: skipped, after })
    return rows.map((row) => matchOf(row, placeOf(sort, row.key, row.document)))
  }
  const offset = skipped + (after ? readRank(after) : 0)
  const some = excerpts ? await listRows(source, excerpts, sort, { limit: offset + limit, offset: 0 }) : []
  // As many as there are excerpts may come before the first one wanted in their stead.
  const early = Math.min(offset, some.length)
  const rows = await listRows(source, whole, sort, { limit: limit + early, offset: offset - early })
  const merged = some.length === 0 ? rows : [...rows, ...some].toSorted(orderOf(sort)).slice(early, early + limit)
  return merged.map((row, index) => matchOf(row, offset + index + 1))
}

const matchOf = ({ id, name }: Row, position: Place | number): SearchMatch => ({ id, name, score: 0, cursor: writeCursor(position) })

/** As the databases sort: names are ASCII. */
function orderOf(sort: ListSort): (a: Row, b: Row) => number {
  const sign = orders[sort].direction === 'desc' ? -1 : 1
  const compare = <Key>(a: Key, b: Key) => (a < b ? -1 : a > b ? 1 : 0)
  return (a, b) =>
    sign * ((sort === 'name' ? compare(a.key, b.key) : Number(a.key) - Number(b.key)) || Number(a.document) - Number(b.document))
}

async function listRows(source: Source, selection: Selection, sort: ListSort, { limit, offset, after }: Stretch): Promise<Row[]> {
  const { column, direction, beyond } = orders[sort]
  const place = after ? readPlace(after, sort === 'name' || sort === 'score' ? sort : 'number') : []
  const order = `order by ${column} ${direction}, d.id ${direction}`
  const beyondPlace = after ? [`(${column}, d.id) ${beyond} (?, ?)`] : []
  async function read({ sql, parameters, conditions }: Documents): Promise<Row[]> {
    return source.heavyReads.all<Row>(
      `select d.package_id as id, d.name, ${column} as key, d.id as document from ${sql} ${whereAll(conditions)} ${order} limit ? offset ?`,
      ...parameters,
      limit,
      offset,
    )
  }

  const all = walked(source, selection)
  if (isAll(selection)) return read({ ...all, conditions: [...all.conditions, ...beyondPlace], parameters: [...all.parameters, ...place] })
  if (!selection.terms) {
    // Where a tenth of all packages have the tags, a walk of ten times the length finds a page, and costs less than sorting all that have them.
    const first = `select * from ${documentsOf(selection.reach)} d ${whereAll([isWithin[selection.reach], ...beyondPlace])} ${order} limit ?`
    const parameters = [...place, 10 * (limit + offset), ...all.parameters]
    const found = await read({ sql: `(${first}) d`, conditions: all.conditions, parameters })
    if (found.length === limit) return found
  }
  const { sql, parameters } = matched(source, selection)
  return read({ sql, conditions: beyondPlace, parameters: [...parameters, ...place] })
}

type Row = { id: string; name: string; key: string | number; document: string | number }

/** A table of documents `d`, and the conditions on them. The parameters come in the order of both. */
type Documents = { sql: string; conditions: readonly string[]; parameters: readonly Parameter[] }

const whereAll = (conditions: readonly string[]) => (conditions.length > 0 ? `where ${conditions.join(' and ')}` : '')

/** How many packages the parts select. */
export async function countMatches({ heavyReads, backend }: Source, parts: readonly Selection[]): Promise<number> {
  const dialect = dialectOf(backend)
  let total = 0
  for (const part of parts) {
    const { sql, parameters } = isAll(part) ? dialect.everything(part.reach) : dialect.matching(part, breadthOf(part))
    const row = await heavyReads.get<{ total: string | number }>(`select count(*) as total from (${sql}) m`, ...parameters)
    total += Number(row?.total ?? 0)
  }
  return total
}

/** Conditions on a document `d` beside the words: that it may be found, and its tags. */
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

/** What is selected, as a table of documents `d`. */
export function matched({ backend }: Source, selection: Selection): Statement & { conditions: string[] } {
  const { sql, parameters } = dialectOf(backend).matching(selection, breadthOf(selection))
  return { sql: `(${sql}) m join ${documentsOf(selection.reach)} d on d.id = m.id`, parameters, conditions: [] }
}

/** All documents in the order of an index, each asked whether it is wanted: for what many are. */
export function walked(source: Source, selection: Selection): Statement & { conditions: string[] } {
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

/** From so many matches on, walking a sorted list until a page is full costs less than sorting them. */
const many = 2000

/** Whether tags alone are wanted, and many packages have them. */
export async function isCommon({ heavyReads, backend }: Source, selection: Selection): Promise<boolean> {
  if (selection.terms) return false
  if (isAll(selection)) return true
  const { sql, parameters } = dialectOf(backend).matching(selection, 'full')
  const row = await heavyReads.get<{ total: string | number }>(`select count(*) as total from (${sql} limit ${many}) m`, ...parameters)
  return Number(row?.total) >= many
}

/** PostgreSQL hands large integers over as texts. */
const placeOf = (sort: ListSort, key: string | number, document: string | number): Place => [
  sort === 'name' ? key : Number(key),
  Number(document),
]

/** A place in a sorted list: the sorted column's value, and the document's number, which settles ties. */
type Place = [key: string | number, document: number]

/** A position as an opaque text: a place in a sorted list, or how many ranked matches came before. */
export const writeCursor = (position: Place | number): string => Buffer.from(JSON.stringify(position)).toString('base64url')

/** @throws ApiError InvalidInput when the text is not a cursor of a list sorted by numbers, by scores or by names. */
const readPlace = (cursor: string, by: keyof typeof keys): Place => read(cursor, z.tuple([keys[by], number]))

/** @throws ApiError InvalidInput when the text is not a cursor of ranked matches. */
export const readRank = (cursor: string): number => read(cursor, z.int32().nonnegative())

const number = z.int()
/** PostgreSQL keeps scores as small numbers, and compares them with no others. */
const keys = { number, score: z.int().min(-1).max(100), name: z.stringFormat('name', /^\w{1,64}$/) }

function read<T>(cursor: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch {
    throw invalidInput('after: is not a cursor of this list.', 'after')
  }
}
