import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { splitLines } from '../backup/place/files.ts'
import { conflict } from '../errors.ts'
import { type PlannedTable, selectFromPostgres } from './plan.ts'
import type { Source } from './source.ts'

/** What both databases have in a table: the number of rows, and the SHA-256 of their canonical forms by key, a line each. */
export type ComparedTable = { name: string; rows: number; sha256: string }

/**
 * Compares every row of a table with the SQLite file, and the hashes of all of them. `tell` hears how many were compared.
 * @throws ApiError Conflict that names the first row that differs.
 */
export async function compareTable(
  source: Source,
  client: Client,
  table: PlannedTable,
  tell: (done: number) => void,
): Promise<ComparedTable> {
  const stream = client.query(copyTo(`copy (${selectFromPostgres(table)}) to stdout`))
  stream.setEncoding('utf8')
  const [there, here] = [createHash('sha256'), createHash('sha256')]
  const rows = source.rows(table)
  let count = 0
  try {
    for await (const line of splitLines(stream as AsyncIterable<string>)) {
      const next = rows.next()
      if (next.done || next.value !== line) throw differs(table, count + 1)
      there.update(`${line}\n`)
      here.update(`${next.value}\n`)
      if (++count % rowsBetween === 0) tell(count)
    }
    if (!rows.next().done) throw differs(table, count + 1)
  } finally {
    rows.return()
  }
  const sha256 = here.digest('hex')
  if (there.digest('hex') !== sha256 || count !== source.count(table.name)) throw differs(table, count)
  tell(count)
  return { name: table.name, rows: count, sha256 }
}

const rowsBetween = 1000

const differs = ({ name, key }: PlannedTable, position: number) =>
  conflict(
    `The table ${name} is not the same in both databases: they differ at row ${position} in the order of ${key.join(', ')}. The move stays unfinished. ` +
      'Somebody else has changed the PostgreSQL database: drop it, create it anew and run the move again.',
  )
