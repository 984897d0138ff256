import type { Database } from '../db/orm.ts'
import { type Place, readPlace, writeCursor } from './cursor.ts'
import { dialectOf } from './dialects.ts'
import type { QueryTerms } from './terms.ts'

/** Where packages are looked up. */
export type Source = Pick<Database, 'reads' | 'backend'>

/** A package that was found. `score`: from 0, when nothing was ranked, to 1 for the very name. */
export type SearchMatch = { id: string; name: string; score: number; cursor: string }

export type ListSort = keyof typeof orders

/** A stretch of a list. */
export type Stretch = { limit: number; offset: number; after?: string | null | undefined }

/**
 * All packages, or those that match, sorted: newest first, or by name.
 * @throws ApiError InvalidInput for a cursor of another list.
 */
export async function listPackages(
  { reads, backend }: Source,
  terms: QueryTerms | null,
  sort: ListSort,
  { limit, offset, after }: Stretch,
): Promise<SearchMatch[]> {
  const { column, direction, beyond } = orders[sort]
  const place = after ? readPlace(after, sort === 'name' ? 'name' : 'moment') : []
  const rows = await reads.all<{ id: string; name: string; key: string | number; document: string | number }>(
    `select d.package_id as id, d.name, ${column} as key, d.id as document from ${documents(backend, terms)}
     ${after ? `where (${column}, d.id) ${beyond} (?, ?)` : ''} order by ${column} ${direction}, d.id ${direction} limit ? offset ?`,
    ...matched(backend, terms),
    ...place,
    limit,
    offset,
  )
  return rows.map(({ id, name, key, document }) => ({ id, name, score: 0, cursor: writeCursor(placeOf(sort, key, document)) }))
}

/** How many packages there are, or match. */
export async function countPackages({ reads, backend }: Source, terms: QueryTerms | null): Promise<number> {
  const source = terms ? `(${dialectOf(backend).matching[scopeOf(terms)]}) m` : 'package_search_documents'
  const row = await reads.get<{ total: string | number }>(`select count(*) as total from ${source}`, ...matched(backend, terms))
  return Number(row?.total ?? 0)
}

const orders = {
  updated: { column: 'd.updated_at', direction: 'desc', beyond: '<' },
  created: { column: 'd.created_at', direction: 'desc', beyond: '<' },
  name: { column: 'd.name', direction: 'asc', beyond: '>' },
} as const

const scopeOf = (terms: QueryTerms) => (terms.namesOnly ? 'name' : 'full')

function documents(backend: Source['backend'], terms: QueryTerms | null): string {
  const all = 'package_search_documents d'
  return terms ? `(${dialectOf(backend).matching[scopeOf(terms)]}) m join ${all} on d.id = m.id` : all
}

const matched = (backend: Source['backend'], terms: QueryTerms | null) =>
  terms ? [dialectOf(backend).match(terms.words, scopeOf(terms))] : []

/** PostgreSQL hands large integers over as texts. */
const placeOf = (sort: ListSort, key: string | number, document: string | number): Place => [
  sort === 'name' ? key : Number(key),
  Number(document),
]
