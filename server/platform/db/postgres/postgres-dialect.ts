import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type { PoolClient } from 'pg'
import type { PostgresConnections } from './postgres-connections.ts'
import { endsConnection } from '../unavailable.ts'

/** Returns a Kysely dialect for the ORM. A connection is discarded if it ended, or if BEGIN or ROLLBACK failed on it. */
export const postgresDialect = (connections: PostgresConnections): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => driver(connections),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
})

function driver(connections: PostgresConnections): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => new Lease(await connections.acquire(), connections),
    beginTransaction: (connection, settings) => (connection as Lease).begin(settings),
    commitTransaction: (connection) => (connection as Lease).commit(),
    rollbackTransaction: (connection) => (connection as Lease).runOrBreak('rollback'),
    savepoint: (connection, name) => (connection as Lease).run(`savepoint ${quoteIdentifier(name)}`),
    rollbackToSavepoint: (connection, name) => (connection as Lease).run(`rollback to ${quoteIdentifier(name)}`),
    releaseSavepoint: (connection, name) => (connection as Lease).run(`release ${quoteIdentifier(name)}`),
    releaseConnection: async (connection) => (connection as Lease).release(),
    destroy: () => connections.close(),
  }
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`

/** A connection leased for one statement or transaction. */
class Lease implements DatabaseConnection {
  readonly #client: PoolClient
  readonly #connections: PostgresConnections
  #mustClose = false

  constructor(client: PoolClient, connections: PostgresConnections) {
    this.#client = client
    this.#connections = connections
  }

  begin({ isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    const level = isolationLevel ? ` isolation level ${isolationLevel}` : ''
    return this.runOrBreak(`start transaction${level}${accessMode ? ` ${accessMode}` : ''}`)
  }

  async commit(): Promise<void> {
    // PostgreSQL answers COMMIT with ROLLBACK if an earlier statement of the transaction failed.
    if ((await this.#query('commit')).command === 'ROLLBACK') throw new AbortedTransactionError()
  }

  async run(sql: string): Promise<void> {
    await this.#query(sql)
  }

  async runOrBreak(sql: string): Promise<void> {
    try {
      await this.#query(sql)
    } catch (error) {
      this.#mustClose = true
      throw error
    }
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    this.#connections.watch.requireUnlocked(sql)
    const { command, rowCount, rows } = await this.#query(sql, [...parameters], nameOf(sql, parameters))
    const isChange = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command)
    return { rows: rows as Row[], ...(isChange && { numAffectedRows: BigInt(rowCount ?? 0) }) }
  }

  streamQuery(): never {
    throw new Error('Rows are not streamed.')
  }

  release(): void {
    this.#connections.release(this.#client, this.#mustClose)
  }

  async #query(text: string, values?: unknown[], name?: string) {
    try {
      return await this.#client.query({ text, ...(values && { values }), ...(name && { name }) })
    } catch (error) {
      this.#mustClose ||= endsConnection(error)
      throw error
    }
  }
}

/**
 * Returns the name of a prepared statement. Returns undefined for statements without parameters, because the ORM inlines values and its statements
 * are not reused, and when the limit of prepared statements is reached.
 */
function nameOf(sql: string, parameters: readonly unknown[]): string | undefined {
  if (parameters.length === 0) return undefined
  const known = names.get(sql)
  if (known !== undefined || names.size >= maxPrepared) return known
  const name = `write_${names.size}`
  names.set(sql, name)
  return name
}

const names = new Map<string, string>()
const maxPrepared = 200
