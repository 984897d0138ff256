import { Readable } from 'node:stream'
import type { Context } from '../../platform/access/context.ts'
import { requireScope } from '../../platform/access/guards.ts'
import { sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import type { Alternative, Data } from '../../platform/rest/route.ts'
import type { User } from '../users/entity.ts'
import { loadUser } from '../users/service.ts'
import { type AuditEntry, deletedUser } from './entity.ts'
import { batchAuditEntries } from './list.ts'

type Event = { entry: AuditEntry; actor: User | null; user: User | null }

/** The exported columns, in order. */
const columns = {
  id: ({ entry }) => entry.id,
  createdAt: ({ entry }) => entry.createdAt.toISOString(),
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
} satisfies Record<string, (event: Event) => string | null | undefined>

/** A file format: content type, file extension, header line and a function that formats a row. */
type Format = { type: string; parameters: string; extension: string; head: string; line: (row: Row) => string }
type Row = Record<string, string | null>

/** Exports the filtered audit log as a file in this format. `filterOf` converts the variables of the route to a filter. Reads in batches, so memory use is constant. */
export const exportedAs = (format: Format, filterOf: (variables: Data) => Data): Alternative => ({
  type: format.type,
  handler: (context, given) => sendFile(context, format, () => filterOf(given())),
})

async function sendFile(context: Context, format: Format, variables: () => Data): Promise<unknown> {
  requireScope(context, 'admin')
  const { request, reply, database, now } = context
  const batches = await batchAuditEntries(() => database.fork(), variables())
  reply
    .type(format.type + format.parameters)
    .header('content-disposition', `attachment; filename="audit-log-${now().toISOString().slice(0, 10)}.${format.extension}"`)
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(Readable.from(lines(context, format, batches)))
}

async function* lines({ database }: Context, { head, line }: Format, batches: AsyncIterable<AuditEntry[]>): AsyncGenerator<string> {
  if (head) yield head
  for await (const batch of batches) {
    const request = { em: database.fork() }
    const personOf = (id: string | null | undefined) => (id ? loadUser(request, id) : null)
    const rows = await Promise.all(
      batch.map(async (entry) => line(rowOf({ entry, actor: await personOf(entry.actorId), user: await personOf(entry.userId) }))),
    )
    // An empty chunk would end the response stream.
    if (rows.length > 0) yield rows.join('')
  }
}

const rowOf = (event: Event): Row => Object.fromEntries(Object.entries(columns).map(([name, valueOf]) => [name, valueOf(event) ?? null]))

const nameOf = (id: string | null | undefined, person: User | null) => person?.displayName ?? (id ? deletedUser : null)

/** CSV for spreadsheets (RFC 4180). */
export const csv: Format = {
  type: 'text/csv',
  parameters: '; charset=utf-8; header=present',
  extension: 'csv',
  head: record(Object.keys(columns)),
  line: (row) => record(Object.values(row).map((value) => value ?? '')),
}

/** Newline-delimited JSON for programs. */
export const ndjson: Format = {
  type: 'application/x-ndjson',
  parameters: '; charset=utf-8',
  extension: 'ndjson',
  head: '',
  line: (row) => `${JSON.stringify(row)}\n`,
}

function record(cells: readonly string[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

/**
 * Quotes a cell as RFC 4180 requires. Cells that a spreadsheet would interpret as formulas are prefixed with an apostrophe (OWASP, "CSV
 * Injection").
 */
export function cell(text: string): string {
  const harmless = /^(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
