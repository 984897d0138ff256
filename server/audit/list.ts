import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { validate as isUuid } from 'uuid'
import { invalidInput } from '../errors.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { AuditEntry } from './entity.ts'

/** Which entries to show; what is left out does not narrow. */
export type AuditFilter = {
  /** A kind such as `user.login`, or the beginning of kinds, such as `user.`. */
  kind?: string | null | undefined
  /** Who did it: an e-mail address or an id. */
  actor?: string | null | undefined
  /** To whom it was done: an e-mail address or an id. */
  user?: string | null | undefined
  package?: string | null | undefined
  /** Not before this moment. */
  from?: Date | null | undefined
  /** Before this moment. */
  to?: Date | null | undefined
  /** Only what is older than the entry with this id. */
  olderThan?: string | null | undefined
}

export type AuditCondition = FilterQuery<AuditEntry>

/**
 * The condition that a filter stands for. Somebody whom the e-mail address does not find has done nothing; deleted people are found by id.
 * @throws ApiError InvalidInput for what cannot be a kind or an id.
 */
export async function auditCondition(em: EntityManager, filter: AuditFilter): Promise<AuditCondition> {
  const { kind, actor, user, package: name, from, to, olderThan } = filter
  if (olderThan != null && !isUuid(olderThan)) throw invalidInput('There is no audit entry with this id to go on from.', 'olderThan')
  const all: AuditCondition[] = []
  if (kind) all.push({ kind: ofKind(kind) })
  if (actor) all.push({ actorId: await idOf(em, actor) })
  if (user) all.push({ userId: await idOf(em, user) })
  if (name) all.push({ package: name })
  if (from) all.push({ createdAt: { $gte: from } })
  if (to) all.push({ createdAt: { $lt: to } })
  if (olderThan) all.push({ id: { $lt: olderThan } })
  return all.length ? { $and: all } : {}
}

/** Up to `limit` entries, newest first; ids grow with time. `after` is the id of the last one of the page before. */
export function listAuditEntries(
  em: EntityManager,
  where: AuditCondition,
  page: { limit: number; after?: string | undefined },
): Promise<AuditEntry[]> {
  return em.find(
    AuditEntry,
    { $and: [where, page.after ? { id: { $lt: page.after } } : {}] },
    { orderBy: { id: 'desc' }, limit: page.limit },
  )
}

/** How many entries there are. */
export const countAuditEntries = (em: EntityManager, where: AuditCondition): Promise<number> => em.count(AuditEntry, where)

function ofKind(kind: string) {
  if (!/^[a-z]+\.[a-z_]*$/.test(kind))
    throw invalidInput('kind: must be a kind such as user.login, or the beginning of some, such as user.', 'kind')
  return kind.endsWith('.') ? { $like: `${kind}%` } : kind
}

/** Nobody has the nil id, so an unknown address finds nothing. */
const nobody = '00000000-0000-0000-0000-000000000000'

async function idOf(em: EntityManager, person: string): Promise<string> {
  if (isUuid(person)) return person.toLowerCase()
  const user = await em.findOne(User, { emailKey: emailKey(person) }, { fields: ['id'] })
  return user?.id ?? nobody
}
