import { Readable } from 'node:stream'
import type { Context } from '../access/context.ts'
import { requireScope } from '../access/guards.ts'
import { sendHeadersOnly } from '../http/conditional.ts'
import type { Data } from '../rest/route.ts'
import type { User } from '../users/entity.ts'
import { usersById } from '../users/loader.ts'
import type { AuditEntry } from './entity.ts'
import { batchAuditEntries } from './list.ts'
import { deletedUser } from './people.ts'

/** Sends the filtered audit log as a CSV file (RFC 4180), batch by batch: memory does not grow with the log. */
export async function sendCsv(context: Context, variables: () => Data): Promise<unknown> {
  requireScope(context, 'admin')
  const { request, reply, database, now } = context
  const batches = await batchAuditEntries(() => database.fork(), variables())
  reply
    .type('text/csv; charset=utf-8; header=present')
    .header('content-disposition', `attachment; filename="audit-log-${now().toISOString().slice(0, 10)}.csv"`)
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(Readable.from(lines(context, batches)))
}

const columns = [
  'id',
  'createdAt',
  'kind',
  'summary',
  'actorId',
  'actorName',
  'actorEmail',
  'userId',
  'userName',
  'userEmail',
  'package',
  'version',
  'clientIp',
  'publisher',
]

async function* lines({ database }: Context, batches: AsyncIterable<AuditEntry[]>): AsyncGenerator<string> {
  yield line(columns)
  for await (const batch of batches) {
    const people = usersById(database.fork())
    const rows = await Promise.all(
      batch.map(async (entry) => row(entry, await personOf(people, entry.actorId), await personOf(people, entry.userId))),
    )
    yield rows.join('')
  }
}

const personOf = (people: ReturnType<typeof usersById>, id: string | null | undefined) => (id ? people.load(id) : null)

function row(entry: AuditEntry, actor: User | null, user: User | null): string {
  const { id, createdAt, kind, summary, actorId, userId, version, clientIp } = entry
  return line([
    id,
    createdAt.toISOString(),
    kind,
    summary,
    ...personCells(actorId, actor),
    ...personCells(userId, user),
    entry.package,
    version,
    clientIp,
    entry.publisher,
  ])
}

const personCells = (id: string | null | undefined, person: User | null) => [id, person?.displayName ?? (id && deletedUser), person?.email]

const line = (cells: (string | null | undefined)[]): string => `${cells.map((text) => cell(text ?? '')).join(',')}\r\n`

/** Quoted where RFC 4180 wants it; what a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection"). */
export function cell(text: string): string {
  const harmless = /^(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
