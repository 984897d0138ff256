import SqliteDatabase from 'better-sqlite3'
import { Pool, type QueryResult, type QueryResultRow } from 'pg'
import type { DatabaseConfig } from './options.ts'

type Parameter = string | number | null

/**
 * Prepared reads beside the ORM, for what every request needs: an entity costs six times a row. `?` marks a parameter.
 * They run on connections of their own, so they see committed rows only and wait for no transaction.
 */
export type Reads = {
  get<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row | undefined>
  all<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row[]>
  close(): Promise<void>
  /** The connections themselves, on PostgreSQL. */
  pool?: Pool
}

/** Opens the connections. `onQuery` hears of every statement. */
export function openReads(config: DatabaseConfig, onQuery?: (sql: string) => void): Reads {
  const source = config.DB_BACKEND === 'postgres' ? postgresReads(config.POSTGRES_URL ?? '') : sqliteReads(config.SQLITE_PATH)
  function all<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row[]> {
    onQuery?.(sql)
    return source.rows(sql, parameters) as Promise<Row[]>
  }
  function get<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row | undefined> {
    onQuery?.(sql)
    return source.row(sql, parameters) as Promise<Row | undefined>
  }
  return { get, all, close: () => source.close(), ...(source.pool && { pool: source.pool }) }
}

/** A moment as either database hands it to plain SQL. */
export const toDate = (value: number | string | Date): Date => new Date(value)

type Source = {
  row(sql: string, parameters: Parameter[]): Promise<unknown>
  rows(sql: string, parameters: Parameter[]): Promise<unknown[]>
  close(): Promise<void>
  pool?: Pool
}

function sqliteReads(path: string): Source {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 })
  const prepared = new Map<string, SqliteDatabase.Statement>()
  function prepare(sql: string): SqliteDatabase.Statement {
    let statement = prepared.get(sql)
    if (!statement) prepared.set(sql, (statement = db.prepare(plannedOnce(sql))))
    return statement
  }
  return {
    row: async (sql, parameters) => prepare(sql).get(...parameters),
    rows: async (sql, parameters) => prepare(sql).all(...parameters),
    async close() {
      db.close()
    },
  }
}

/**
 * SQLite looks at the value of a bare parameter when it plans a join, and so plans it anew for every value, which takes three times as long
 * as running it. It does not look into a subquery, which means the same.
 */
const plannedOnce = (sql: string) => sql.replaceAll('= ?', '= (select ?)')

function postgresReads(url: string): Source {
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
  return {
    row: async (sql, values) => (await rows(sql, values))[0],
    rows,
    pool,
    close: () => pool.end(),
  }
}
