import { Readable } from 'node:stream'
import type { Context } from '../access/context.ts'
import { requireScope } from '../access/guards.ts'
import { sendHeadersOnly } from '../http/caching/conditional.ts'
import type { Alternative, Data } from './route.ts'

type Value = string | number | boolean | Date | null | undefined
type Row = Record<string, string | null>

/** A file format: content type, file extension, and functions that format the header line and a row. */
type Format = { type: string; parameters: string; extension: string; head: (names: string[]) => string; line: (row: Row) => string }

/** A list that administrators export as a file. */
export type Exported<Item> = {
  /** Start of the file name. */
  name: string
  /** The exported columns, in order. */
  columns: Record<string, (item: Item) => Value>
  /** Reads the items in batches, so that memory use is constant. An error of the first batch becomes the response. */
  batches: (context: Context, given: Data) => AsyncGenerator<Item[]>
}

/** Returns the representation of a route as a file in this format. The variables of the route's operation filter the items. */
export const exportedAs = <Item>(format: Format, list: Exported<Item>): Alternative => ({
  type: format.type,
  handler: (context, given) => sendFile(context, format, list, given),
})

async function sendFile<Item>(context: Context, format: Format, list: Exported<Item>, given: () => Data): Promise<unknown> {
  requireScope(context, 'admin')
  const { request, reply, now } = context
  const batches = list.batches(context, given())
  const first = await batches.next()
  reply
    .type(format.type + format.parameters)
    .header('content-disposition', `attachment; filename="${list.name}-${now().toISOString().slice(0, 10)}.${format.extension}"`)
  if (request.method !== 'HEAD') return reply.send(Readable.from(chunks(format, list.columns, first, batches)))
  await batches.return(undefined)
  return sendHeadersOnly(request, reply)
}

async function* chunks<Item>(
  { head, line }: Format,
  columns: Exported<Item>['columns'],
  first: IteratorResult<Item[]>,
  further: AsyncGenerator<Item[]>,
): AsyncGenerator<string> {
  const valuesOf = Object.entries(columns)
  const rowOf = (item: Item): Row => Object.fromEntries(valuesOf.map(([name, valueOf]) => [name, textOf(valueOf(item))]))
  const names = head(Object.keys(columns))
  if (names) yield names
  for (let batch = first; !batch.done; batch = await further.next()) {
    // An empty chunk would end the response stream.
    if (batch.value.length > 0) yield batch.value.map((item) => line(rowOf(item))).join('')
  }
}

const textOf = (value: Value): string | null => (value == null ? null : value instanceof Date ? value.toISOString() : String(value))

/** CSV for spreadsheets (RFC 4180). */
export const csv: Format = {
  type: 'text/csv',
  parameters: '; charset=utf-8; header=present',
  extension: 'csv',
  head: record,
  line: (row) => record(Object.values(row).map((value) => value ?? '')),
}

/** Newline-delimited JSON for programs. */
export const ndjson: Format = {
  type: 'application/x-ndjson',
  parameters: '; charset=utf-8',
  extension: 'ndjson',
  head: () => '',
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

type Connection<Node> = { edges: { node: Node }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }

/** Yields the nodes of a connection, page by page. */
export async function* pagesOf<Node>(
  load: (page: { first: number; after: string | null }) => Promise<Connection<Node>>,
): AsyncGenerator<Node[]> {
  for (let after: string | null = null; ;) {
    const { edges, pageInfo }: Connection<Node> = await load({ first: 100, after })
    yield edges.map(({ node }) => node)
    if (!pageInfo.hasNextPage) return
    after = pageInfo.endCursor
  }
}
