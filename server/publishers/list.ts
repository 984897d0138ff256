import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { inOrderOf, type PageArguments } from '../graphql/connections.ts'
import { batched } from '../db/batched.ts'
import { containing } from '../db/contains.ts'
import { Publisher, PublisherMember } from './entity.ts'
import type { Membership } from './members.ts'

export type PublisherFilter = {
  /** Part of the id or the name, without regard to case. */
  query?: string | null | undefined
  isVerified?: boolean | null | undefined
  /** Only those that this person is a member of. */
  member?: string | null | undefined
}
type Page = PageArguments & { offset?: number | null | undefined }

/** The publisher with this id, or null. */
export const findPublisher = (em: EntityManager, id: string): Promise<Publisher | null> => em.findOne(Publisher, { id })

/** Publishers by id, as a connection. `offset` skips that many, for page numbers. */
export const listPublishers = (em: EntityManager, filter: PublisherFilter, page: Page) =>
  inOrderOf(em, Publisher, 'id', conditions(filter), page)

function conditions({ query, isVerified, member }: PublisherFilter): FilterQuery<Publisher> {
  const all: FilterQuery<Publisher>[] = []
  if (query?.trim()) {
    const part = containing(query.trim())
    all.push({
      [raw((alias) => `(${alias}.id like ? escape '!' or lower(${alias}.display_name) like ? escape '!')`, [part, part])]: [],
    })
  }
  if (isVerified != null) all.push({ isVerified })
  if (member != null)
    all.push({ [raw((alias) => `${alias}.id in (select publisher_id from publisher_members where user_id = ?)`, [member])]: [] })
  return all.length ? { $and: all } : {}
}

/** A publisher by id. */
export const loadPublisher = batched(async (em, ids) => byKey(await em.find(Publisher, { id: { $in: ids } }), ({ id }) => id))

/** The members of a publisher by name, by its id. */
export const loadMembers = batched(async (em, ids) => {
  const rows = await em.find(
    PublisherMember,
    { publisher: { $in: ids } },
    { populate: ['user.passwordHash'], orderBy: { user: { displayName: 'asc', id: 'asc' } } },
  )
  return Map.groupBy(rows as Membership[], ({ publisher }) => publisher.id)
})

/** What somebody is a member of, by the person's id, sorted by publisher. */
export const loadMemberships = batched(async (em, userIds) => {
  const rows = await em.find(
    PublisherMember,
    { user: { $in: userIds } },
    { populate: ['user.passwordHash'], orderBy: { publisher: { id: 'asc' } } },
  )
  return Map.groupBy(rows as Membership[], ({ user }) => user.id)
})

/** How many members a publisher has. */
export const countMembers = batched((em, ids) => countByPublisher(em, 'publisher_members', ids))

/** How many rows of a table name each of the publishers. */
export async function countByPublisher(em: EntityManager, table: 'packages' | 'publisher_members', ids: string[], condition = '') {
  const rows = await em.execute<{ id: string; many: number | string }[]>(
    `select publisher_id as id, count(*) as many from ${table} where publisher_id in (${ids.map(() => '?').join(', ')})${condition} group by publisher_id`,
    ids,
  )
  return new Map(rows.map(({ id, many }) => [id, Number(many)]))
}

const byKey = <Value>(values: Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value> =>
  new Map(values.map((value) => [keyOf(value), value]))
