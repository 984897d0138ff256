import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { conflict } from '../../errors.ts'
import { columnList, type PlannedTable, quoted, selectFromPostgres } from './plan.ts'
import type { Source } from './source.ts'
import { copiedNote, type Target } from './target.ts'
import { createHash } from 'node:crypto'
import { splitLines } from '../backup/place/files.ts'

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

/** Result of comparing a table: the number of rows, and the SHA-256 of their canonical forms in key order, one per line. */
export type ComparedTable = { name: string; rows: number; sha256: string }

type ReportProgress = (done: number) => void

/**
 * Compares every row of a table in both databases. `report` receives the number of compared rows.
 * @throws ApiError Conflict that names the first row that differs.
 */
export async function compareTable(source: Source, client: Client, table: PlannedTable, report: ReportProgress): Promise<ComparedTable> {
  const { rows, differsAt, there, here } = await compareRows(source, client, table, report)
  if (differsAt !== null) throw differs(table, differsAt)
  if (there !== here || rows !== source.count(table.name)) throw differs(table, rows + 1)
  return { name: table.name, rows, sha256: here }
}

/** Returns whether PostgreSQL has exactly the first `count` rows of a table, with the current values of the SQLite file. */
export async function hasSameRows(
  source: Source,
  client: Client,
  table: PlannedTable,
  count: number,
  report: ReportProgress,
): Promise<boolean> {
  const { rows, differsAt, there, here } = await compareRows(source, client, table, report)
  return differsAt === null && there === here && rows === count
}

/** Reads the rows of a table from both databases in parallel. Returns the number of equal rows and the position of the first difference. */
async function compareRows(source: Source, client: Client, table: PlannedTable, report: ReportProgress) {
  const stream = client.query(copyTo(`copy (${selectFromPostgres(table)}) to stdout`))
  stream.setEncoding('utf8')
  const [there, here] = [createHash('sha256'), createHash('sha256')]
  const rows = source.rows(table)
  let [count, differsAt]: [number, number | null] = [0, null]
  try {
    // Always read the stream to the end, since the connection cannot be used before.
    for await (const line of splitLines(stream as AsyncIterable<string>)) {
      if (differsAt !== null) continue
      const next = rows.next()
      if (next.done || next.value !== line) {
        differsAt = count + 1
        continue
      }
      there.update(`${line}\n`)
      here.update(`${next.value}\n`)
      if (++count % rowsBetween === 0) report(count)
    }
  } finally {
    rows.return()
  }
  report(count)
  return { rows: count, differsAt, there: there.digest('hex'), here: here.digest('hex') }
}

const rowsBetween = 1000

const differs = ({ name, key }: PlannedTable, position: number) =>
  conflict(
    `The table ${name} differs between the databases at row ${position} (ordered by ${key.join(', ')}). The move is unfinished. ` +
      'Another program has changed the PostgreSQL database. Drop and re-create it, then run the move again.',
  )
