import { Readable } from 'node:stream'
import type { Context } from '../../platform/access/context.ts'
import { requireScope } from '../../platform/access/guards.ts'
import { sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import type { Alternative, Data } from '../../platform/rest/route.ts'
import type { User } from '../users/entity.ts'
import { loadUser } from '../users/service.ts'
import { type AuditEntry, deletedUser } from './entity.ts'
import { batchAuditEntries } from './list.ts'

export const columns = [
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
] as const

/** The exported columns of an audit entry. */
export type Row = Record<(typeof columns)[number], string | null>

/** A file format: content type, file extension, header line and a function that formats a row. */
export type Format = { type: string; parameters: string; extension: string; head: string; line: (row: Row) => string }

/** Exports the filtered audit log as a file in this format. Reads in batches, so memory use is constant. */
export const exportedAs = (format: Format): Alternative => ({
  type: format.type,
  handler: (context, given) => sendFile(context, format, () => ({ ...given(), olderThan: given().before })),
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
    const rows = await Promise.all(
      batch.map(async (entry) => line(row(entry, await personOf(request, entry.actorId), await personOf(request, entry.userId)))),
    )
    // An empty chunk would end the response stream.
    if (rows.length > 0) yield rows.join('')
  }
}

const personOf = (request: Pick<Context, 'em'>, id: string | null | undefined) => (id ? loadUser(request, id) : null)

const nameOf = (id: string | null | undefined, person: User | null) => person?.displayName ?? (id ? deletedUser : null)

const row = (entry: AuditEntry, actor: User | null, user: User | null): Row => ({
  id: entry.id,
  createdAt: entry.createdAt.toISOString(),
  kind: entry.kind,
  summary: entry.summary,
  actorId: entry.actorId ?? null,
  actorName: nameOf(entry.actorId, actor),
  actorEmail: actor?.email ?? null,
  userId: entry.userId ?? null,
  userName: nameOf(entry.userId, user),
  userEmail: user?.email ?? null,
  package: entry.package ?? null,
  version: entry.version ?? null,
  clientIp: entry.clientIp ?? null,
  publisher: entry.publisher ?? null,
})

/** CSV for spreadsheets (RFC 4180). */
export const csv: Format = {
  type: 'text/csv',
  parameters: '; charset=utf-8; header=present',
  extension: 'csv',
  head: record(columns),
  line: (row) => record(columns.map((column) => row[column] ?? '')),
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
