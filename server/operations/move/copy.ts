import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { conflict } from '../../errors.ts'
import { readLines } from '../backup/place/files.ts'
import { copyIn, copyOut, setTriggers } from '../backup/postgres.ts'
import { plannedColumns, type PlannedTable, selectFromPostgres } from './plan.ts'
import type { Source } from './source.ts'
import { copiedNote, readNote, writeNote } from './target.ts'

/** Bytes per transaction. Each commit also records the progress, so that an interrupted move can continue from there. */
const bytesAtOnce = 8 << 20
/** Bytes that are buffered before they are sent to PostgreSQL. */
const bytesOfChunk = 1 << 16
const rowsBetweenReports = 1000

type ReportRows = (done: number) => void

/** Copies the rows of a table that the target does not have yet. `report` receives the number of copied rows. */
export async function copyTable(source: Source, client: Client, table: PlannedTable, report: ReportRows): Promise<void> {
  const total = source.count(table.name)
  const noted = copiedNote(table.name)
  let done = Number((await readNote(client, noted)) ?? 0)
  report(done)
  const rows = source.rows(table, done)
  try {
    while (done < total) {
      await client.query('begin')
      await setTriggers(client, [table.name], 'disable')
      // Migrations store their version in a setting. It is replaced by the row of the SQLite file.
      if (done === 0 && table.name === 'server_settings') await client.query('delete from server_settings')
      const copied = await copySome(client, table, take(rows, table.refersToItself ? Number.POSITIVE_INFINITY : bytesAtOnce))
      if (copied === 0) throw conflict(`The table ${table.name} has fewer rows than expected. Check the SQLite file for corruption.`)
      done += copied
      await writeNote(client, noted, String(done))
      await setTriggers(client, [table.name], 'enable')
      await client.query('commit')
      report(done)
    }
  } finally {
    rows.return()
  }
}

const copySome = (client: Client, table: PlannedTable, chunks: Iterable<string>): Promise<number> =>
  copyIn(client, { name: table.name, columns: plannedColumns(table) }, chunks).catch((error: unknown) => {
    // PostgreSQL appends the value to the location. Values may be confidential, so only the column is reported.
    const { message = String(error), where } = error as { message?: string; where?: string }
    const column = /column (\w+)/.exec(where ?? '')?.[1]
    throw conflict(`The table ${table.name}${column ? `, column ${column}` : ''} cannot be moved: ${message}`)
  })

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

/**
 * Compares every row of a table in both databases. `report` receives the number of compared rows.
 * @throws ApiError Conflict that names the first row that differs.
 */
export async function compareTable(source: Source, client: Client, table: PlannedTable, report: ReportRows): Promise<ComparedTable> {
  const { rows, isEqual, sha256 } = await compareRows(source, client, table, report)
  if (!isEqual || rows !== source.count(table.name))
    throw conflict(
      `The table ${table.name} differs between the databases at row ${rows + 1} (ordered by ${table.key.join(', ')}). The move is unfinished. ` +
        'Another program has changed the PostgreSQL database. Drop and re-create it, then run the move again.',
    )
  return { name: table.name, rows, sha256 }
}

/**
 * Compares the rows of a table in PostgreSQL with the first rows in the SQLite file. Returns the number of equal rows before the first difference,
 * and whether PostgreSQL has no other rows.
 */
export async function compareRows(source: Source, client: Client, table: PlannedTable, report: ReportRows) {
  const stream = copyOut(client, `(${selectFromPostgres(table)})`)
  stream.setEncoding('utf8')
  const sum = createHash('sha256')
  const expected = source.rows(table)
  let [rows, isEqual] = [0, true]
  try {
    // Always read the stream to the end, since the connection cannot be used before.
    for await (const line of readLines(stream as AsyncIterable<string>)) {
      isEqual &&= expected.next().value === line
      if (!isEqual) continue
      sum.update(`${line}\n`)
      if (++rows % rowsBetweenReports === 0) report(rows)
    }
  } finally {
    expected.return()
  }
  report(rows)
  return { rows, isEqual, sha256: sum.digest('hex') }
}
