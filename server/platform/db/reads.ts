import type { EntityManager } from '@mikro-orm/sql'
import type { QueryResultRow } from 'pg'
import { metered, type StatementWatch } from './meter.ts'
import type { PostgresConnections } from './postgres/postgres-connections.ts'
import { type PreparedQuery, type Query, type Statement, statementOf, type Value } from './query.ts'
import { readStatement } from './statements.ts'

export type Parameter = string | number | null

/**
 * Reads for hot paths, six times as fast as entities. They run on their own connections, so they see only committed rows and never wait for a
 * transaction. Queries are built by `db` (`prepared` if they are run often), or SQL texts with `?` for parameters.
 */
export type Reads = {
  /** Returns the first row. Times are Dates, and columns declared as boolean are booleans. */
  get: Read1
  /** Returns all rows. */
  all: ReadAll
  /** Like `get`, for small rows that are read often. On SQLite the row is cached until the next write; on PostgreSQL nothing is cached. */
  recall: Read1
  close(): Promise<void>
  /** The connections that run the reads, on PostgreSQL. */
  pool?: PostgresConnections
  /** Cache hits and misses of `recall`, if it caches rows. */
  recalled?: Readonly<Recalled>
}

type Read1 = {
  <Row>(query: Query<Row>): Promise<Readonly<Row> | undefined>
  <Arguments extends readonly Value[], Row>(query: PreparedQuery<Arguments, Row>, ...given: Arguments): Promise<Readonly<Row> | undefined>
  /** Returns a row as the database returns it. For statements that `db` cannot build. */
  <Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Readonly<Row> | undefined>
}

type ReadAll = {
  <Row>(query: Query<Row>): Promise<Row[]>
  <Arguments extends readonly Value[], Row>(query: PreparedQuery<Arguments, Row>, ...given: Arguments): Promise<Row[]>
  <Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row[]>
}

type Recalled = { hits: number; misses: number }

/** Returns the reads of a source. `onQuery` is called with the text of every statement; `watch` wraps its execution. */
export function openReads(source: Source, onQuery?: (sql: string) => void, watch?: StatementWatch): Reads {
  const using = (read: (statement: Statement) => Promise<unknown>) =>
    ((query: string | Query<unknown> | PreparedQuery<Value[], unknown>, ...given: Value[]) => {
      const statement = typeof query === 'string' ? { sql: query, values: given } : statementOf(query, given)
      onQuery?.(statement.sql)
      const run = () => read(statement)
      return metered(watch ? () => watch(statement.sql, run) : run)
    }) as Read1 & ReadAll
  return {
    get: using(source.row),
    all: using(source.rows),
    recall: using(source.recalled),
    close: () => source.close(),
    ...(source.pool && { pool: source.pool }),
    ...(source.counts && { recalled: source.counts }),
  }
}

/** Returns reads in the transactions of `fork`, for commands that open the database without connections for reads. */
export function forkReads(fork: () => EntityManager): Reads {
  const rows = (statement: Statement) => readStatement(fork(), statement)
  const row = async (statement: Statement) => (await rows(statement))[0]
  return openReads({ row, rows, recalled: row, close: async () => {} })
}

/** Converts a timestamp that either database returned for plain SQL. */
export const toDate = (value: number | string | Date): Date => new Date(value)

/** A readable database: returns the first row, all rows, or the first row from the cache. */
export type Source = {
  row: (statement: Statement) => Promise<unknown>
  rows: (statement: Statement) => Promise<unknown[]>
  recalled: (statement: Statement) => Promise<unknown>
  close(): Promise<void>
  pool?: PostgresConnections
  /** Number of cache hits and misses of `recalled`. */
  counts?: Readonly<Recalled>
}
