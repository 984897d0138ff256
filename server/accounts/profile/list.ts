import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { anyText, beyond, type PageArguments, pageByKey, type Sort } from '../../platform/graphql/connections.ts'
import { containing, containingAsTyped } from '../../platform/db/statements.ts'
import type { Role, UserKind } from '../../platform/access/roles.ts'
import { User } from '../users/entity.ts'
import { email as address, emailKey } from '../users/input.ts'
import { waitsForAcceptance } from '../invites/service.ts'

export type UserFilter = {
  /** Kinds of accounts; people if omitted. */
  kinds?: readonly UserKind[] | null | undefined
  email?: string | null | undefined
  /** Part of the e-mail address or name of a user, or of one of them. */
  query?: string | null | undefined
  searchIn?: 'email' | 'name' | null | undefined
  role?: Role | null | undefined
  status?: 'invited' | 'active' | 'inactive' | null | undefined
  /** Only users who have not signed in since this time, or never. */
  idleSince?: Date | null | undefined
  hasSecondFactor?: boolean | null | undefined
  /** The domain of passkeys that are accepted, for `hasSecondFactor`. */
  passkeyDomain?: string | undefined
}
export type UserOrder = 'created' | 'email'
type Page = PageArguments & { offset?: number | null | undefined }

/**
 * Lists users as a connection, in a strict order: by creation (UUIDv7 ids) or by e-mail address. `offset` skips users, for page numbers; cursors are
 * cheaper on later pages.
 */
export function listUsers(em: EntityManager, filter: UserFilter, { by, direction }: Sort<UserOrder>, page: Page) {
  const where = conditions(filter)
  const key = by === 'email' ? 'emailKey' : 'id'
  return pageByKey(page, {
    keyOf: (user: User) => user[key],
    ...(by === 'email' && { isKey: anyText }),
    load: (limit, after) => {
      const further = after === undefined ? {} : { [key]: { [beyond[direction]]: after } }
      const options = { orderBy: { [key]: direction }, limit, offset: page.offset ?? 0, populate: ['passwordHash'] } as const
      return em.find(User, { $and: [where, further] }, options)
    },
    count: () => em.count(User, where),
  })
}

/** Returns the stored spelling of a whole e-mail address. Other texts stay as they are. */
const spellingOf = (text: string): string => (address.safeParse(text).success ? emailKey(text) : text)

function conditions(filter: UserFilter): FilterQuery<User> {
  const { kinds, email, query, searchIn, role, status, idleSince, hasSecondFactor, passkeyDomain = '' } = filter
  const all: FilterQuery<User>[] = [{ kind: { $in: [...(kinds ?? ['person'])] } }]
  if (email) all.push(containsText(email, 'email'))
  if (query) all.push(containsText(query, searchIn))
  if (role) all.push({ role })
  if (status === 'inactive') all.push({ isActive: false })
  if (status === 'invited') all.push(waitsForAcceptance)
  const completed = [{ kind: 'service' }, { passwordHash: { $ne: null } }, { providerSignInAt: { $ne: null } }] as const
  if (status === 'active') all.push({ isActive: true, $or: [...completed] })
  if (idleSince) all.push({ createdAt: { $lt: idleSince }, $or: [{ lastLoginAt: null }, { lastLoginAt: { $lt: idleSince } }] })
  if (hasSecondFactor != null) all.push(withFactor(hasSecondFactor, passkeyDomain))
  return { $and: all }
}

function withFactor(isWanted: boolean, passkeyDomain: string): FilterQuery<User> {
  const condition = (alias: string) =>
    `${isWanted ? '' : 'not '}(exists (select 1 from totp_secrets t where t.user_id = ${alias}.id and t.confirmed_at is not null) or exists (select 1 from passkeys k where k.user_id = ${alias}.id and k.disabled_at is null and k.rp_id = ?))`
  return { [raw(condition, [passkeyDomain])]: [] }
}

function containsText(text: string, field: 'email' | 'name' | null | undefined): FilterQuery<User> {
  const ofEmail = { [raw((alias) => `${alias}.email_key like ? escape '!'`, [containing(spellingOf(text))])]: [] }
  // Some databases lowercase ASCII only, so other letters must match exactly.
  const name = (alias: string) => `(lower(${alias}.display_name) like ? escape '!' or ${alias}.display_name like ? escape '!')`
  const ofName = { [raw(name, [containing(text), containingAsTyped(text)])]: [] }
  return field ? { email: ofEmail, name: ofName }[field] : { $or: [ofEmail, ofName] }
}
