import type { QueryConfig } from 'pg'
import type { PostgresConnections } from '../postgres/postgres-connections.ts'
import { numbered } from '../numbered.ts'
import type { Parameter, Source } from './reads.ts'
import type { Replica } from '../postgres/replica.ts'

/** Reads on connections of their own. Other instances write, too, so nothing is remembered. */
export function postgresReads(pool: PostgresConnections): Source {
  const prepare = preparing()
  const rows = async (sql: string, values: Parameter[]) => (await pool.query(prepare(sql, values))).rows
  return { ...sourceOf(rows), pool, close: () => pool.close() }
}

/** Reads on a replica while it has all that the primary has, and else on the primary. */
export function replicaReads(replica: Replica, primary: Source): Source {
  const prepare = preparing()
  const rows = async (sql: string, values: Parameter[]) => {
    const done = await replica.attempt(async (client) => (await client.query<Record<string, unknown>>(prepare(sql, values))).rows)
    return done ? done.value : primary.rows(sql, values)
  }
  return { ...sourceOf(rows), replica, close: () => replica.close() }
}

function sourceOf(rows: Source['rows']): Pick<Source, 'row' | 'rows' | 'recalled'> {
  const row = async (sql: string, values: Parameter[]) => (await rows(sql, values))[0]
  return { row, rows, recalled: row }
}

/** Statements that a connection keeps prepared. A search has a statement for each combination of filters, so there are many. */
const maxPrepared = 200

/** What makes a statement for a driver that numbers parameters. A connection prepares each of the first ones once, and further ones each time. */
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
