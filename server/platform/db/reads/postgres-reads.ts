import type { QueryConfig } from 'pg'
import type { PostgresConnections } from '../postgres/postgres-connections.ts'
import { numbered } from '../numbered.ts'
import type { Parameter, Source } from './reads.ts'

/** Returns reads on their own connections. Nothing is cached, because other instances write to the same database. */
export function postgresReads(pool: PostgresConnections): Source {
  const prepare = preparing()
  const rows = async (sql: string, values: Parameter[]) => (await pool.query(prepare(sql, values))).rows
  const row = async (sql: string, values: Parameter[]) => (await rows(sql, values))[0]
  return { row, rows, recalled: row, pool, close: () => pool.close() }
}

/** Maximum number of prepared statements per connection. Each combination of search filters is its own statement. */
const maxPrepared = 200

/** Returns a function that builds a query for `pg`. The first `maxPrepared` statements are named, so a connection prepares them only once. */
function preparing(): (sql: string, values: Parameter[]) => QueryConfig<unknown[]> {
  const prepared = new Map<string, { name: string; text: string }>()
  return (sql, values) => {
    const known = prepared.get(sql)
    if (known) return { ...known, values }
    const text = numbered(sql)
    if (prepared.size >= maxPrepared) return { text, values }
    const statement = { name: `read_${prepared.size}`, text }
    prepared.set(sql, statement)
    return { ...statement, values }
  }
}
