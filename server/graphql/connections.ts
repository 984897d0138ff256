import type { EntityName, FilterQuery, OrderDefinition } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { idOf } from '../db/base.ts'
import { invalidInput } from '../errors.ts'

/** What a client says of the page that it wants. */
export type PageArguments = {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
}

type Source<Node> = {
  /** What the order is by; it must be unique. */
  keyOf: (node: Node) => string
  /** Whether a cursor's key could be one; an id, unless said otherwise. */
  isKey?: (key: string) => boolean
  /** Up to `limit` nodes that come after this key, in order. */
  load: (limit: number, after: string | undefined) => Promise<Node[]>
  count: () => Promise<number>
}

/** What `offset` may be: how many rows come before a numbered page. */
export const notNegative = z.int().min(0, 'must not be negative').nullish()

/** What a part of a name or an address may be that is looked for: databases refuse to compare with much longer ones. */
export const partOfText = { extensions: { maxLength: 200 } }

/** The largest page of a connection. */
const maxPageSize = 100

/**
 * A page of a connection by keyset: as cheap on page 1,000 as on page 1. One row more than asked for is loaded, to know whether there is a next page.
 * @throws ApiError InvalidInput for a page size outside 1 to 100, a cursor that is not ours, or backward paging.
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

/** Rows as a connection, the newest first: ids grow with time. */
export const newestFirst = <Row extends { id: string }>(
  em: EntityManager,
  entity: EntityName<Row>,
  where: FilterQuery<Row>,
  page: PageArguments,
) =>
  pageByKey(page, {
    keyOf: ({ id }: Row) => id,
    load: (limit, id) => {
      const older = id === undefined ? {} : { id: { $lt: id } }
      return em.find(entity, { $and: [where, older] } as FilterQuery<Row>, { orderBy: { id: 'desc' } as OrderDefinition<Row>, limit })
    },
    count: () => em.count(entity, where),
  })

/** Rows as a connection, in the order of a text that no two share. `offset` skips that many, for page numbers. */
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
      return em.find(entity, { $and: [where, later] } as FilterQuery<Row>, { orderBy, limit, offset: offset ?? 0 })
    },
    count: () => em.count(entity, where),
  })

/** Whether a text is an id as it stands in the database. */
const isId = (text: string): boolean => idOf(text) === text

/** For keys that are texts: whatever it is, it has its place in the order. */
export const anyText = (): boolean => true

/** The key of a row in an order by a moment, which it may lack, then by id. */
export const momentKey = (moment: Date | null | undefined, id: string): string => `${moment?.getTime() ?? 'never'} ${id}`

/** Whether this could be such a key. */
export function isMomentKey(key: string): boolean {
  const [moment = '', id = '', ...rest] = key.split(' ')
  return rest.length === 0 && isId(id) && (moment === 'never' || (/^\d{1,15}$/.test(moment) && Number(moment) <= lastMoment))
}

/** The end of the year 9999, beyond which PostgreSQL reads no text as a moment. */
const lastMoment = Date.UTC(10_000, 0) - 1

/** What such a key stands for. */
export function readMomentKey(key: string): { moment: Date | null; id: string } {
  const [moment = '', id = ''] = key.split(' ')
  return { moment: moment === 'never' ? null : new Date(Number(moment)), id }
}

/** The page size that was asked for: `first` from 1 to 100. */
export function pageSizeOf({ first, last, before }: PageArguments): number {
  if (last != null || before != null)
    throw invalidInput('Page forward with `first` and `after`; `last` and `before` are not supported here.', 'first')
  if (first == null) throw invalidInput(`first: is required, from 1 to ${maxPageSize}.`, 'first')
  if (first < 1 || first > maxPageSize) throw invalidInput(`first: must be from 1 to ${maxPageSize}.`, 'first')
  return first
}

/** An opaque cursor for a key. */
export const toCursor = (key: string): string => Buffer.from(`key:${key}`).toString('base64url')

/** The key behind a cursor. */
export function fromCursor(cursor: string, isKey: (key: string) => boolean): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith('key:') && !text.includes('\0') && isKey(text.slice(4))) return text.slice(4)
  throw invalidInput('after: is not a cursor of this connection.', 'after')
}
