import { Pool, type QueryResult, type QueryResultRow } from 'pg'
import type { Parameter, Source } from './reads.ts'

/** Reads on a few connections. Other instances write, too, so nothing is remembered. */
export function postgresReads(url: string): Source {
  const pool = new Pool({ connectionString: url, max: 8, idleTimeoutMillis: 30_000 })
  // A dropped idle connection is replaced by the pool; without a listener the event would end the process.
  pool.on('error', () => {})
  const prepared = new Map<string, { name: string; text: string }>()
  async function rows(sql: string, values: Parameter[]): Promise<unknown[]> {
    let statement = prepared.get(sql)
    if (!statement) {
      let position = 0
      prepared.set(sql, (statement = { name: `read_${prepared.size}`, text: sql.replaceAll('?', () => `$${++position}`) }))
    }
    const result: QueryResult<QueryResultRow> = await pool.query({ ...statement, values })
    return result.rows
  }
  const row = async (sql: string, values: Parameter[]) => (await rows(sql, values))[0]
  return {
    row,
    rows,
    recalled: row,
    pool,
    close: () => pool.end(),
  }
}
