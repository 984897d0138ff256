import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { splitLines } from '../backup/place/files.ts'
import { conflict } from '../../errors.ts'
import { type PlannedTable, selectFromPostgres } from './plan.ts'
import type { Source } from './source.ts'

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
