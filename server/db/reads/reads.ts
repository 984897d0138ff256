import type { QueryResultRow } from 'pg'
import { metered, type StatementWatch } from '../meter.ts'
import type { PostgresConnections } from '../postgres/postgres-connections.ts'
import type { Replica } from '../postgres/replica.ts'

export type Parameter = string | number | null

/**
 * Prepared reads beside the ORM, for what every request needs: an entity costs six times a row. `?` marks a parameter.
 * They run on connections of their own, so they see committed rows only and wait for no transaction.
 */
export type Reads = {
  get<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row | undefined>
  all<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Row[]>
  /** Like `get`, for a small row that is asked for again and again: remembered until something is written, where that can be told. */
  recall<Row extends QueryResultRow>(sql: string, ...parameters: Parameter[]): Promise<Readonly<Row> | undefined>
  close(): Promise<void>
  /** The connections themselves, on PostgreSQL. */
  pool?: PostgresConnections
  /** The replica that they run on when they can. */
  replica?: Replica
  /** How often `recall` had the row, and how often not, where it remembers any. */
  recalled?: Readonly<Recalled>
}

type Recalled = { hits: number; misses: number }

/** The reads of a source. `onQuery` hears of every statement, `watch` runs it. */
export function openReads(source: Source, onQuery?: (sql: string) => void, watch?: StatementWatch): Reads {
  const using =
    <Answer>(read: (sql: string, parameters: Parameter[]) => Promise<unknown>) =>
    (sql: string, ...parameters: Parameter[]): Promise<Answer> => {
      onQuery?.(sql)
      const run = () => read(sql, parameters)
      return metered(watch ? () => watch(sql, run) : run) as Promise<Answer>
    }
  return {
    get: using(source.row),
    all: using(source.rows),
    recall: using(source.recalled),
    close: () => source.close(),
    ...(source.pool && { pool: source.pool }),
    ...(source.replica && { replica: source.replica }),
    ...(source.counts && { recalled: source.counts }),
  }
}

/** A moment as either database hands it to plain SQL. */
export const toDate = (value: number | string | Date): Date => new Date(value)

/** A database that can be read: the first row, all rows, or the first row as it is remembered. */
export type Source = {
  row: (sql: string, parameters: Parameter[]) => Promise<unknown>
  rows: (sql: string, parameters: Parameter[]) => Promise<unknown[]>
  recalled: (sql: string, parameters: Parameter[]) => Promise<unknown>
  close(): Promise<void>
  pool?: PostgresConnections
  replica?: Replica
  /** How often a row was remembered. */
  counts?: Readonly<Recalled>
}
