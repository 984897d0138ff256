import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { conflict } from '../errors.ts'
import { columnList, type PlannedTable, quoted } from './plan.ts'
import type { Source } from './source.ts'
import { copiedNote, type Target } from './target.ts'

/** So much is sent before it is committed, with how far the move is: an interrupted one goes on from there. */
const bytesAtOnce = 8 << 20
/** So much is handed to the connection at a time. */
const bytesOfChunk = 1 << 16

/** Brings the rows of a table that are not in the target yet. `tell` hears how many are. */
export async function copyTable(source: Source, target: Target, table: PlannedTable, tell: (done: number) => void): Promise<void> {
  const { client } = target
  const total = source.count(table.name)
  const noted = copiedNote(table.name)
  let done = Number((await target.read(noted)) ?? 0)
  tell(done)
  const rows = source.rows(table, done)
  try {
    while (done < total) {
      await client.query('begin')
      // Rows come as they were, also those that nobody may write later, such as what was deleted of the audit log.
      await client.query(`alter table ${quoted(table.name)} disable trigger user`)
      // The migrations tell in a setting which version ran them; that of the file is among the rows.
      if (done === 0 && table.name === 'server_settings') await client.query('delete from server_settings')
      const copied = await copySome(client, table, take(rows, table.refersToItself ? Number.POSITIVE_INFINITY : bytesAtOnce))
      if (copied === 0) throw conflict(`The table ${table.name} has fewer rows than it counts. Check the SQLite file.`)
      done += copied
      await target.write(noted, String(done))
      await client.query(`alter table ${quoted(table.name)} enable trigger user`)
      await client.query('commit')
      tell(done)
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
    // PostgreSQL adds the value to the place, which is nobody's business.
    const { message = String(error), where } = error as { message?: string; where?: string }
    const column = /column (\w+)/.exec(where ?? '')?.[1]
    throw conflict(`The table ${table.name}${column ? `, column ${column}` : ''} cannot be moved: ${message}`)
  }
  return stream.rowCount
}

/** The next rows, of so many bytes at least, in chunks. What reads them may go on with the rest later. */
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
