import SqliteDatabase from 'better-sqlite3'
import type { Client } from 'pg'
import { z } from 'zod'
import { withClient } from '../postgres.ts'
import type { SnapshotConfig } from '../create.ts'
import { verifySqliteFile } from './sqlite.ts'
import type { Findings } from './findings.ts'

/** Verifies that every foreign key in the database refers to an existing row. */
export async function verifyReferences({ DB_BACKEND, SQLITE_PATH, POSTGRES_URL = '' }: SnapshotConfig, findings: Findings): Promise<void> {
  if (DB_BACKEND === 'postgres') return withClient(POSTGRES_URL, (client) => verifyConstraints(client, findings))
  const db = new SqliteDatabase(SQLITE_PATH, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    verifySqliteFile(db, SQLITE_PATH, findings)
  } finally {
    db.close()
  }
}

const constraints = z.array(
  z.object({ name: z.string(), table: z.string(), columns: z.array(z.string()), parent: z.string(), keys: z.array(z.string()) }),
)
const total = z.array(z.object({ rows: z.coerce.number() }))

/** Checks every foreign key of a PostgreSQL database. A constraint may have been disabled, or the files may be corrupt. */
async function verifyConstraints(client: Client, findings: Findings): Promise<void> {
  await client.query('begin isolation level repeatable read read only')
  const names = (columns: string) =>
    `(select json_agg(a.attname order by u.at) from unnest(${columns}) with ordinality u(number, at) join pg_attribute a on a.attnum = u.number and a.attrelid =`
  const { rows } = await client.query(
    `select k.conname as name, c.relname as "table", r.relname as parent, ${names('k.conkey')} k.conrelid) as columns, ${names('k.confkey')} k.confrelid) as keys
     from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class r on r.oid = k.confrelid
     where k.contype = 'f' and k.connamespace = current_schema()::regnamespace order by k.conname`,
  )
  for (const { name, table, columns, parent, keys } of constraints.parse(rows)) {
    findings.count('references')
    const quoted = (column: string | undefined = '') => client.escapeIdentifier(column)
    const match = columns.map((column, index) => `p.${quoted(keys[index])} = c.${quoted(column)}`).join(' and ')
    const set = columns.map((column) => `c.${quoted(column)} is not null`).join(' and ')
    const lost = await client.query(
      `select count(*) as rows from ${quoted(table)} c where ${set} and not exists (select from ${quoted(parent)} p where ${match})`,
    )
    const [{ rows: count } = { rows: 0 }] = total.parse(lost.rows)
    if (count > 0) findings.add(`the table ${table}`, `${count} rows refer to missing rows of ${parent} (${name})`)
  }
  await client.query('commit')
}
