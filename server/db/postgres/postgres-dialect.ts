import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type { PoolClient } from 'pg'
import type { PostgresConnections } from './postgres-connections.ts'
import { endsConnection } from '../unavailable.ts'

/** The ORM's way to PostgreSQL. A connection on which BEGIN or ROLLBACK failed, or that ended, is never used again. */
export class PostgresOnConnections implements Dialect {
  readonly #connections: PostgresConnections

  constructor(connections: PostgresConnections) {
    this.#connections = connections
  }

  createAdapter(): PostgresAdapter {
    return new PostgresAdapter()
  }

  createDriver(): Driver {
    return driver(this.#connections)
  }

  createIntrospector(db: Kysely<never>): PostgresIntrospector {
    return new PostgresIntrospector(db)
  }

  createQueryCompiler(): PostgresQueryCompiler {
    return new PostgresQueryCompiler()
  }
}

function driver(connections: PostgresConnections): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => new Lease(await connections.acquire(), connections),
    beginTransaction: (connection, settings) => (connection as Lease).begin(settings),
    commitTransaction: (connection) => (connection as Lease).commit(),
    rollbackTransaction: (connection) => (connection as Lease).runOrBreak('rollback'),
    savepoint: (connection, name) => (connection as Lease).run(`savepoint ${quoted(name)}`),
    rollbackToSavepoint: (connection, name) => (connection as Lease).run(`rollback to ${quoted(name)}`),
    releaseSavepoint: (connection, name) => (connection as Lease).run(`release ${quoted(name)}`),
    releaseConnection: async (connection) => (connection as Lease).give(),
    destroy: () => connections.close(),
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** A connection while one user has it: for a statement or a transaction. */
class Lease implements DatabaseConnection {
  readonly #client: PoolClient
  readonly #connections: PostgresConnections
  #isUseless = false

  constructor(client: PoolClient, connections: PostgresConnections) {
    this.#client = client
    this.#connections = connections
  }

  begin({ isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    const level = isolationLevel ? ` isolation level ${isolationLevel}` : ''
    return this.runOrBreak(`start transaction${level}${accessMode ? ` ${accessMode}` : ''}`)
  }

  async commit(): Promise<void> {
    // PostgreSQL answers COMMIT with ROLLBACK when an earlier statement failed.
    if ((await this.#query('commit')).command === 'ROLLBACK') throw new AbortedTransactionError()
  }

  async run(sql: string): Promise<void> {
    await this.#query(sql)
  }

  async runOrBreak(sql: string): Promise<void> {
    try {
      await this.#query(sql)
    } catch (error) {
      this.#isUseless = true
      throw error
    }
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    this.#connections.watch.requireFree(sql)
    const { command, rowCount, rows } = await this.#query(sql, [...parameters], nameOf(sql, parameters))
    const isChange = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command)
    return { rows: rows as Row[], ...(isChange && { numAffectedRows: BigInt(rowCount ?? 0) }) }
  }

  streamQuery(): never {
    throw new Error('Rows are not streamed.')
  }

  give(): void {
    this.#connections.release(this.#client, this.#isUseless)
  }

  async #query(text: string, values?: unknown[], name?: string) {
    try {
      return await this.#client.query({ text, ...(values && { values }), ...(name && { name }) })
    } catch (error) {
      this.#isUseless ||= endsConnection(error)
      throw error
    }
  }
}

/**
 * The name under which a connection keeps a statement that takes parameters prepared; none for those of the ORM, which have their values in the
 * text and are used once, and for more than a connection should keep.
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
