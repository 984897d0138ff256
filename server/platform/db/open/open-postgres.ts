import { MikroORM } from '@mikro-orm/postgresql'
import { types as defaults, TypeOverrides, type QueryConfig } from 'pg'
import { entities } from '../../../entities.ts'
import { commonOptions, type DatabaseConfig, type Logging } from '../options.ts'
import { PostgresConnections } from '../postgres/postgres-connections.ts'
import { postgresDialect } from '../postgres/postgres-dialect.ts'
import { PostgresWatch } from '../postgres/postgres-watch.ts'
import { numbered } from '../statements.ts'
import type { Statement, Value } from '../query.ts'
import type { Source } from '../reads.ts'

/** Opens a PostgreSQL database with a pool for the ORM, a pool for reads and a monitoring connection. */
export async function openPostgres(config: DatabaseConfig, logging: Logging) {
  const { POSTGRES_URL = '', POSTGRES_POOL_MAX, POSTGRES_READ_POOL_MAX } = config
  const watch = await PostgresWatch.open(config)
  const connections = new PostgresConnections(config, watch, { max: POSTGRES_POOL_MAX, types })
  await connections.reserve().catch(async (error: unknown) => {
    await watch.close()
    throw error
  })
  const driverOptions = postgresDialect(connections)
  const orm = new MikroORM({ ...commonOptions('postgres'), ...logging, entities, clientUrl: POSTGRES_URL, driverOptions })
  return {
    orm,
    now: watch.now,
    async source() {
      const reads = new PostgresConnections(config, watch, { max: POSTGRES_READ_POOL_MAX, types })
      await reads.reserve()
      return postgresReads(reads)
    },
    pool: () => connections.state('transactions'),
    async close() {
      await orm.close(true)
      await watch.close()
    },
  }
}

/** Opens one connection without timeouts. The server needs at least three connections in total. */
export const openWithoutTimeouts = ({ POSTGRES_URL = '' }: DatabaseConfig): MikroORM =>
  new MikroORM({
    ...commonOptions('postgres'),
    entities,
    clientUrl: POSTGRES_URL,
    pool: { max: 1 },
    driverOptions: { types },
  })

/** Counts and sums are numbers: none reaches 2^53. */
const types = new TypeOverrides()
for (const type of [defaults.builtins.INT8, defaults.builtins.NUMERIC]) types.setTypeParser(type, Number)

/** Returns reads on their own connections. Nothing is cached, because other instances write to the same database. */
function postgresReads(pool: PostgresConnections): Source {
  const prepare = preparing()
  const rows = async ({ sql, values }: Statement) => (await pool.query(prepare(sql, values))).rows
  const row = async (statement: Statement) => (await rows(statement))[0]
  return { row, rows, recalled: row, pool, close: () => pool.close() }
}

/** Maximum number of prepared statements per connection. Each combination of search filters is its own statement. */
const maxPrepared = 200

/** Returns a function that builds a query for `pg`. The first `maxPrepared` statements are named, so a connection prepares them only once. */
function preparing(): (sql: string, values: readonly Value[]) => QueryConfig<unknown[]> {
  const prepared = new Map<string, { name: string; text: string }>()
  return (sql, values) => {
    const known = prepared.get(sql)
    if (known) return { ...known, values: [...values] }
    const text = numbered(sql)
    if (prepared.size >= maxPrepared) return { text, values: [...values] }
    const statement = { name: `read_${prepared.size}`, text }
    prepared.set(sql, statement)
    return { ...statement, values: [...values] }
  }
}
