import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { anyText, type PageArguments, pageByKey } from '../../platform/graphql/connections.ts'
import { containing, containingAsTyped } from '../../platform/db/statements.ts'
import type { Role } from '../../platform/access/roles.ts'
import { User } from '../users/entity.ts'
import { email as address, emailKey } from '../users/input.ts'

type UserFilter = {
  email?: string | null | undefined
  /** Part of the e-mail address or name of a user. */
  query?: string | null | undefined
  role?: Role | null | undefined
  status?: 'invited' | 'active' | 'inactive' | null | undefined
  /** Only users who have not signed in since this time, or never. */
  idleSince?: Date | null | undefined
}
type UserOrder = 'created' | 'email'
type Page = PageArguments & { offset?: number | null | undefined }

/**
 * Lists users as a connection, in a strict order: newest first (by UUIDv7 ids) or by e-mail address. `offset` skips users, for page numbers;
 * cursors are cheaper on later pages.
 */
export function listUsers(em: EntityManager, filter: UserFilter, order: UserOrder, page: Page) {
  const where = conditions(filter)
  return pageByKey(page, {
    keyOf: (user: User) => (order === 'email' ? user.emailKey : user.id),
    ...(order === 'email' && { isKey: anyText }),
    load: (limit, after) => {
      const paging = { ...sorting(order), limit, offset: page.offset ?? 0 }
      return em.find(User, { $and: [where, afterKey(order, after)] }, { ...paging, populate: ['passwordHash'] })
    },
    count: () => em.count(User, where),
  })
}

const sorting = (order: UserOrder) =>
  order === 'email' ? ({ orderBy: { emailKey: 'asc' } } as const) : ({ orderBy: { id: 'desc' } } as const)

function afterKey(order: UserOrder, after: string | undefined): FilterQuery<User> {
  if (after === undefined) return {}
  return order === 'email' ? { emailKey: { $gt: after } } : { id: { $lt: after } }
}

/** Returns the stored spelling of a whole e-mail address. Other texts stay as they are. */
const spellingOf = (text: string): string => (address.safeParse(text).success ? emailKey(text) : text)

function conditions({ email, query, role, status, idleSince }: UserFilter): FilterQuery<User> {
  const all: FilterQuery<User>[] = []
  if (email) all.push({ [raw((alias) => `${alias}.email_key like ? escape '!'`, [containing(spellingOf(email))])]: [] })
  if (query) {
    // Some databases lowercase ASCII only, so other letters must match exactly.
    const name = (alias: string) => `lower(${alias}.display_name) like ? escape '!' or ${alias}.display_name like ? escape '!'`
    const either = (alias: string) => `(${alias}.email_key like ? escape '!' or ${name(alias)})`
    all.push({ [raw(either, [containing(spellingOf(query)), containing(query), containingAsTyped(query)])]: [] })
  }
  if (role) all.push({ role })
  if (status === 'inactive') all.push({ isActive: false })
  if (status === 'invited') all.push({ isActive: true, passwordHash: null })
  if (status === 'active') all.push({ isActive: true, passwordHash: { $ne: null } })
  if (idleSince) all.push({ createdAt: { $lt: idleSince }, $or: [{ lastLoginAt: null }, { lastLoginAt: { $lt: idleSince } }] })
  return all.length ? { $and: all } : {}
}
