import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { inOrderOf, type PageArguments } from '../../platform/graphql/connections.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { containing, readRows } from '../../platform/db/statements.ts'
import { Publisher, PublisherMember } from './entity.ts'
import type { Membership } from './members.ts'

export type PublisherFilter = {
  /** Part of the id or the display name, case-insensitive. */
  query?: string | null | undefined
  isVerified?: boolean | null | undefined
  /** Id of a user; limits the result to publishers that the user is a member of. */
  member?: string | null | undefined
}

export const findPublisher = (em: EntityManager, id: string): Promise<Publisher | null> => em.findOne(Publisher, { id })

/** Returns publishers ordered by id, as a connection. `offset` skips that many, for numbered pages. */
export const listPublishers = (em: EntityManager, filter: PublisherFilter, page: PageArguments & { offset?: number | null | undefined }) =>
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

/** Loads publishers by id. */
export const loadPublisher = batched(async (em, ids) => {
  const found = await em.find(Publisher, { id: { $in: ids } })
  return new Map(found.map((publisher) => [publisher.id, publisher]))
})

/** Loads a publisher's members by publisher id, ordered by display name. */
export const loadMembers = batched(async (em, ids) => {
  const rows = await em.find(
    PublisherMember,
    { publisher: { $in: ids } },
    { populate: ['user.passwordHash'], orderBy: { user: { displayName: 'asc', id: 'asc' } } },
  )
  return Map.groupBy(rows as Membership[], ({ publisher }) => publisher.id)
})

/** Loads a user's memberships by user id, ordered by publisher. */
export const loadMemberships = batched(async (em, userIds) => {
  const rows = await em.find(
    PublisherMember,
    { user: { $in: userIds } },
    { populate: ['user.passwordHash'], orderBy: { publisher: { id: 'asc' } } },
  )
  return Map.groupBy(rows as Membership[], ({ user }) => user.id)
})

/** Loads the number of members by publisher id. */
export const countMembers = batched(async (em, ids) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('publisher_members')
      .select(({ fn }) => ['publisher_id as id', fn.countAll<number>().as('many')])
      .where('publisher_id', 'in', ids)
      .groupBy('publisher_id'),
  )
  return new Map(rows.map(({ id, many }) => [id, many]))
})

/** Counts the packages of each publisher; without unlisted ones if `isListed`. */
export async function countByPublisher(em: EntityManager, ids: string[], { isListed = false } = {}): Promise<Map<string, number>> {
  const packages = db
    .selectFrom('packages')
    .select(({ fn }) => ['publisher_id as id', fn.countAll<number>().as('many')])
    .where('publisher_id', 'in', ids)
    .groupBy('publisher_id')
    .$narrowType<{ id: string }>()
  const rows = await readRows(em, isListed ? packages.where('is_unlisted', '=', false) : packages)
  return new Map(rows.map(({ id, many }) => [id, many]))
}
