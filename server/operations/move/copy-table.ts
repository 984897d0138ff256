import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { conflict } from '../../errors.ts'
import { columnList, type PlannedTable, quoted } from './plan.ts'
import type { Source } from './source.ts'
import { copiedNote, type Target } from './target.ts'

/** Bytes per transaction. Each commit also records the progress, so that an interrupted move can continue from there. */
const bytesAtOnce = 8 << 20
/** Bytes that are buffered before they are sent to PostgreSQL. */
const bytesOfChunk = 1 << 16

/** Copies the rows of a table that the target does not have yet. `report` receives the number of copied rows. */
export async function copyTable(source: Source, target: Target, table: PlannedTable, report: (done: number) => void): Promise<void> {
  const { client } = target
  const total = source.count(table.name)
  const noted = copiedNote(table.name)
  let done = Number((await target.read(noted)) ?? 0)
  report(done)
  const rows = source.rows(table, done)
  try {
    while (done < total) {
      await client.query('begin')
      // Triggers are disabled so that all rows can be copied unchanged, including changes that triggers forbid, such as deletions in the audit log.
      await client.query(`alter table ${quoted(table.name)} disable trigger user`)
      // Migrations store their version in a setting. It is replaced by the row of the SQLite file.
      if (done === 0 && table.name === 'server_settings') await client.query('delete from server_settings')
      const copied = await copySome(client, table, take(rows, table.refersToItself ? Number.POSITIVE_INFINITY : bytesAtOnce))
      if (copied === 0) throw conflict(`The table ${table.name} has fewer rows than expected. Check the SQLite file for corruption.`)
      done += copied
      await target.write(noted, String(done))
      await client.query(`alter table ${quoted(table.name)} enable trigger user`)
      await client.query('commit')
      report(done)
    }
  } finally {
    rows.return()
  }
}

async function copySome(client: Client, table: PlannedTable, chunks: Iterable<string>): Promise<number> {
  const stream = client.query(copyFrom(`copy ${quoted(table.name)} (${columnList(table)}) from stdin`))
  try {
    await pipeline(Readable.from(chunks), stream)
  } catch (error) {
    // PostgreSQL appends the value to the location. Values may be confidential, so only the column is reported.
    const { message = String(error), where } = error as { message?: string; where?: string }
    const column = /column (\w+)/.exec(where ?? '')?.[1]
    throw conflict(`The table ${table.name}${column ? `, column ${column}` : ''} cannot be moved: ${message}`)
  }
  return stream.rowCount
}

/** Takes chunks of rows until at least `bytes` bytes were taken. The caller can continue with the remaining rows later. */
function* take(rows: Generator<string, void>, bytes: number): Generator<string> {
  let [taken, chunk] = [0, '']
  for (let next = rows.next(); !next.done; next = rows.next()) {
    chunk += `${next.value}\n`
    if (chunk.length < bytesOfChunk) continue
    yield chunk
    taken += chunk.length
    chunk = ''
    if (taken >= bytes) return
  }
  if (chunk !== '') yield chunk
}
