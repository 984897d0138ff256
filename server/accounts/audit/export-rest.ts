import type { Exported } from '../../platform/rest/export.ts'
import type { Data } from '../../platform/rest/route.ts'
import type { Context } from '../../platform/access/context.ts'
import { type Reference, referencedUser } from '../users/refs.ts'
import type { User } from '../users/entity.ts'
import { loadUser } from '../users/service.ts'
import { type AuditEntry, deletedUser } from './entity.ts'
import { batchAuditEntries } from './list.ts'

type Event = { entry: AuditEntry; actor: User | null; user: User | null }

/** The filtered audit log as a file. */
export const auditLog: Exported<Event> = {
  name: 'audit-log',
  columns: {
    id: ({ entry }) => entry.id,
    createdAt: ({ entry }) => entry.createdAt,
    kind: ({ entry }) => entry.kind,
    summary: ({ entry }) => entry.summary,
    actorId: ({ entry }) => entry.actorId,
    actorName: ({ entry, actor }) => nameOf(entry.actorId, actor),
    actorEmail: ({ actor }) => actor?.email,
    userId: ({ entry }) => entry.userId,
    userName: ({ entry, user }) => nameOf(entry.userId, user),
    userEmail: ({ user }) => user?.email,
    package: ({ entry }) => entry.package,
    version: ({ entry }) => entry.version,
    clientIp: ({ entry }) => entry.clientIp,
    publisher: ({ entry }) => entry.publisher,
  },
  batches: events,
}

function filterOf({ actor, user, before, ...filter }: Data): Data {
  return { ...filter, actor: referencedUser(actor as Reference), user: referencedUser(user as Reference), olderThan: before }
}

async function* events({ database }: Context, given: Data): AsyncGenerator<Event[]> {
  for await (const batch of await batchAuditEntries(() => database.fork(), filterOf(given))) {
    const request = { em: database.fork() }
    const personOf = (id: string | null | undefined) => (id ? loadUser(request, id) : null)
    yield await Promise.all(
      batch.map(async (entry) => ({ entry, actor: await personOf(entry.actorId), user: await personOf(entry.userId) })),
    )
  }
}

const nameOf = (id: string | null | undefined, person: User | null) => person?.displayName ?? (id ? deletedUser : null)
