import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { beyond, type Direction, type DirectedPage, pageByKey } from '../../platform/graphql/connections.ts'
import { idOf } from '../../platform/db/base.ts'
import { countEach, findEach } from '../../platform/db/batched.ts'
import { invalidInput } from '../../errors.ts'
import { personId } from '../users/service.ts'
import { AuditEntry, operator } from './entity.ts'

/** Filters for audit entries. Omitted fields do not restrict the result. */
type AuditFilter = {
  /** An event kind such as `user.login`, or a prefix such as `user.`. */
  kind?: string | null | undefined
  /** Kinds or prefixes of entries to leave out. */
  excludeKinds?: readonly string[] | null | undefined
  /** The acting user: an e-mail address or an id. */
  actor?: string | null | undefined
  /** The affected user: an e-mail address or an id. */
  user?: string | null | undefined
  package?: string | null | undefined
  publisher?: string | null | undefined
  /** Only actions of people, signed in or not, and of operators; not those of the server itself. */
  peopleOnly?: boolean | null | undefined
  /** Only entries at or after this time. */
  from?: Date | null | undefined
  /** Only entries before this time. */
  to?: Date | null | undefined
  /** Only entries older than the entry with this id. */
  olderThan?: string | null | undefined
  /** Only entries newer than the entry with this id. */
  newerThan?: string | null | undefined
}

type Condition = FilterQuery<AuditEntry>
type Slice = { limit: number; after: string | undefined; direction?: Direction | null | undefined }

/**
 * Lists audit entries as a connection, newest first unless `direction` is `asc`.
 * @throws ApiError InvalidInput for a malformed kind or id.
 */
export async function listAuditEntries(em: EntityManager, filter: AuditFilter, { direction, ...page }: DirectedPage) {
  const where = await conditionOf(em, filter)
  return pageByKey(page, {
    keyOf: (entry: AuditEntry) => entry.id,
    load: (limit, after) => load(em, where, { limit, after: after && known(after), direction }),
    count: () => countEach(em, AuditEntry, where),
  })
}

const batchSize = 500

/**
 * Reads the matching entries in batches. Each batch uses a new entity manager from `fork`, so that no entries accumulate in memory.
 * @throws ApiError as `listAuditEntries`, before the first batch.
 */
export async function batchAuditEntries(fork: () => EntityManager, filter: AuditFilter): Promise<AsyncIterable<AuditEntry[]>> {
  const where = await conditionOf(fork(), filter)
  return (async function* batches() {
    let batch: AuditEntry[] = []
    do {
      batch = await load(fork(), where, { limit: batchSize, after: batch.at(-1)?.id })
      yield batch
    } while (batch.length === batchSize)
  })()
}

/** Loads up to `limit` entries after the entry with this id. Ids are ordered by time. */
function load(em: EntityManager, where: Condition, { limit, after, direction }: Slice): Promise<AuditEntry[]> {
  const order = direction ?? 'desc'
  const further = after === undefined ? {} : { id: { [beyond[order]]: after } }
  return findEach(em, AuditEntry, { $and: [where, further] }, { orderBy: { id: order }, limit })
}

async function conditionOf(em: EntityManager, filter: AuditFilter): Promise<Condition> {
  const { kind, excludeKinds, actor, user, package: name, publisher, peopleOnly, from, to, olderThan, newerThan } = filter
  const all: Condition[] = []
  if (kind) all.push({ kind: ofKind(kind) })
  for (const one of excludeKinds ?? []) all.push({ $not: { kind: ofKind(one) } })
  if (actor) all.push({ actorId: await personId(em, actor) })
  if (user) all.push({ userId: await personId(em, user) })
  if (name) all.push({ package: name })
  if (publisher) all.push({ publisher })
  if (peopleOnly) all.push({ $or: [{ actorId: { $ne: null } }, { clientIp: { $ne: null } }, { summary: { $like: `${operator} %` } }] })
  if (from) all.push({ createdAt: { $gte: from } })
  if (to) all.push({ createdAt: { $lt: to } })
  if (olderThan) all.push({ id: { $lt: known(olderThan) } })
  if (newerThan) all.push({ id: { $gt: newerThan } })
  return all.length ? { $and: all } : {}
}

/**
 * Returns the id of the entry about the deletion of an earlier publisher with this identifier. Entries up to it concern other people; times do
 * not separate them, since both publishers may exist within one millisecond.
 */
export async function lastDeletionOf(em: EntityManager, publisher: string): Promise<string | null> {
  const where = { publisher, kind: 'publisher.deleted' }
  const [entry] = await findEach(em, AuditEntry, where, { orderBy: { id: 'desc' }, limit: 1 })
  return entry?.id ?? null
}

function known(id: string): string {
  const plain = idOf(id)
  if (plain) return plain
  throw invalidInput('olderThan: must be the id of an entry, from a previous response.', 'olderThan')
}

function ofKind(kind: string) {
  if (!/^[a-z_]+\.[a-z_]*$/.test(kind)) throw invalidInput('kind: must be a kind such as user.login, or a prefix such as user.', 'kind')
  return kind.endsWith('.') ? { $like: `${kind}%` } : kind
}
