import type { EntityName, FilterQuery, OrderDefinition } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { idOf } from '../db/base.ts'
import { countEach, findEach } from '../db/batched.ts'
import { invalidInput } from '../../errors.ts'

/** Paging arguments of a connection. */
export type PageArguments = {
  first?: number | null | undefined
  after?: string | null | undefined
}

export type Direction = 'asc' | 'desc'

/** An order of a connection, and its direction. */
export type Sort<Order> = { by: Order; direction: Direction }

/** Operators for the values after a key. */
export const beyond = { asc: '$gt', desc: '$lt' } as const

export type DirectedPage = PageArguments & { direction?: Direction | null | undefined }

type Source<Node> = {
  /** Sort key of a node; must be unique. */
  keyOf: (node: Node) => string
  /** Whether the key in a cursor is valid. By default, it must be an id. */
  isKey?: (key: string) => boolean
  /** Loads up to `limit` nodes after this key, in order. */
  load: (limit: number, after: string | undefined) => Promise<Node[]>
  count: () => Promise<number>
}

/** Schema of `offset`, the number of rows before a numbered page. */
export const notNegative = z.int().min(0, 'must not be negative').nullish()

/** Length limit of a search string for names and addresses. Databases reject patterns that are much longer. */
export const partOfText = { extensions: { maxLength: 200 } }

/** Options of an argument that filters by text. Its name is `query`. */
export const partOf = (description: string, formerName: string) => ({ description, extensions: { ...partOfText.extensions, formerName } })

const maxPageSize = 100

/**
 * Returns a page by keyset pagination. Loads one extra row to find out whether there is a next page.
 * @throws ApiError InvalidInput for a page size outside 1 to 100, or an invalid cursor.
 */
export async function pageByKey<Node>(args: PageArguments, { keyOf, isKey = isId, load, count }: Source<Node>) {
  const size = pageSizeOf(args)
  const rows = await load(size + 1, args.after == null ? undefined : fromCursor(args.after, isKey))
  const nodes = rows.slice(0, size)
  const edges = nodes.map((node) => ({ cursor: toCursor(keyOf(node)), node }))
  return {
    edges,
    totalCount: count,
    pageInfo: {
      hasNextPage: rows.length > size,
      hasPreviousPage: args.after != null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}

/** Returns rows as a connection, newest first unless `direction` is `asc`. Ids increase with time. */
export const newestFirst = <Row extends { id: string }>(
  em: EntityManager,
  entity: EntityName<Row>,
  where: FilterQuery<Row>,
  { direction, ...page }: DirectedPage,
) =>
  pageByKey(page, {
    keyOf: ({ id }: Row) => id,
    load: (limit, id) => {
      const order = direction ?? 'desc'
      const further = id === undefined ? {} : { id: { [beyond[order]]: id } }
      return findEach(em, entity, { $and: [where, further] } as FilterQuery<Row>, { orderBy: { id: order } as OrderDefinition<Row>, limit })
    },
    count: () => countEach(em, entity, where),
  })

/** Returns rows as a connection, ordered by a unique text column. `offset` skips rows, for numbered pages. */
export const inOrderOf = <Key extends 'id' | 'name', Row extends Record<Key, string>>(
  em: EntityManager,
  entity: EntityName<Row>,
  key: Key,
  where: FilterQuery<Row>,
  { offset, ...page }: PageArguments & { offset?: number | null | undefined },
) =>
  pageByKey(page, {
    keyOf: (row: Row) => row[key],
    isKey: anyText,
    load: (limit, after) => {
      const later = after === undefined ? {} : { [key]: { $gt: after } }
      const orderBy = { [key]: 'asc' } as OrderDefinition<Row>
      return findEach(em, entity, { $and: [where, later] } as FilterQuery<Row>, { orderBy, limit, offset: offset ?? 0 })
    },
    count: () => countEach(em, entity, where),
  })

type Moments<Column extends string> = { id: string } & { [Key in Column]?: Date | null | undefined }

/** Returns rows as a connection, ordered by a time and then by id. Rows without the time come last ascending, and first descending. */
export const inOrderOfTime = <Column extends string, Row extends Moments<Column>>(
  em: EntityManager,
  entity: EntityName<Row>,
  { by, direction }: Sort<Column>,
  where: FilterQuery<Row>,
  page: PageArguments,
) =>
  pageByKey(page, {
    keyOf: (row: Row) => momentKey(row[by], row.id),
    isKey: isMomentKey,
    load: (limit, key) => {
      const further = key === undefined ? {} : beyondMoment(by, direction, key)
      const orderBy = { [by]: direction === 'asc' ? 'asc nulls last' : 'desc nulls first', id: direction } as OrderDefinition<Row>
      return findEach(em, entity, { $and: [where, further] } as FilterQuery<Row>, { orderBy, limit })
    },
    count: () => countEach(em, entity, where),
  })

function beyondMoment(by: string, direction: Direction, key: string): object {
  const { moment, id } = readMomentKey(key)
  const alike = { [by]: moment, id: { [beyond[direction]]: id } }
  if (moment === null) return direction === 'asc' ? alike : { $or: [alike, { [by]: { $ne: null } }] }
  const further = [{ [by]: { [beyond[direction]]: moment } }, alike]
  return { $or: direction === 'asc' ? [...further, { [by]: null }] : further }
}

const isId = (text: string): boolean => idOf(text) === text

/** Accepts every key, for connections ordered by a text column. */
export const anyText = (): boolean => true

/** Returns the sort key of a row ordered by a nullable time, then by id. */
export const momentKey = (moment: Date | null | undefined, id: string): string => `${moment?.getTime() ?? 'never'} ${id}`

/** Whether a cursor key was made by `momentKey`. */
export function isMomentKey(key: string): boolean {
  const [moment = '', id = '', ...rest] = key.split(' ')
  return rest.length === 0 && isId(id) && (moment === 'never' || (/^\d{1,15}$/.test(moment) && Number(moment) <= lastMoment))
}

/** The end of the year 9999, the latest time that PostgreSQL parses in this format. */
const lastMoment = Date.UTC(10_000, 0) - 1

/** Parses a key made by `momentKey`. */
export function readMomentKey(key: string): { moment: Date | null; id: string } {
  const [moment = '', id = ''] = key.split(' ')
  return { moment: moment === 'never' ? null : new Date(Number(moment)), id }
}

/** Returns the requested page size, from 1 to 100. */
export function pageSizeOf({ first }: PageArguments): number {
  if (first == null) throw invalidInput(`first: is required, from 1 to ${maxPageSize}.`, 'first')
  if (first < 1 || first > maxPageSize) throw invalidInput(`first: must be from 1 to ${maxPageSize}.`, 'first')
  return first
}

/** Encodes a key as an opaque cursor. */
export const toCursor = (key: string): string => Buffer.from(`key:${key}`).toString('base64url')

/** Decodes a cursor. Throws InvalidInput if it is invalid. */
export function fromCursor(cursor: string, isKey: (key: string) => boolean): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith('key:') && !text.includes('\0') && isKey(text.slice(4))) return text.slice(4)
  throw invalidInput('after: is not a cursor of this connection.', 'after')
}
