import type { PostgresConnections } from './postgres-connections.ts'
import type { Parameter, Source } from './reads.ts'

/** Reads on connections of their own. Other instances write, too, so nothing is remembered. */
export function postgresReads(pool: PostgresConnections): Source {
  const prepared = new Map<string, { name: string; text: string }>()
  async function rows(sql: string, values: Parameter[]): Promise<unknown[]> {
    let statement = prepared.get(sql)
    if (!statement) {
      let position = 0
      prepared.set(sql, (statement = { name: `read_${prepared.size}`, text: sql.replaceAll('?', () => `$${++position}`) }))
    }
    return (await pool.query({ ...statement, values })).rows
  }
  const row = async (sql: string, values: Parameter[]) => (await rows(sql, values))[0]
  return {
    row,
    rows,
    recalled: row,
    pool,
    close: () => pool.close(),
  }
}
