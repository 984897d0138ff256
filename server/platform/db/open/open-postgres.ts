import { MikroORM } from '@mikro-orm/postgresql'
import { types as defaults, TypeOverrides } from 'pg'
import { entities } from '../../../entities.ts'
import { type OpenedDatabase } from './opened.ts'
import { commonOptions, type DatabaseConfig, type Logging } from '../options.ts'
import { PostgresConnections } from '../postgres/postgres-connections.ts'
import { PostgresOnConnections } from '../postgres/postgres-dialect.ts'
import { postgresReads } from '../reads/postgres-reads.ts'
import { PostgresWatch } from '../postgres/postgres-watch.ts'

/** Opens a PostgreSQL database with a pool for the ORM, a pool for reads and a monitoring connection. */
export async function openPostgres(config: DatabaseConfig, logging: Logging): Promise<OpenedDatabase> {
  const { POSTGRES_URL = '', POSTGRES_POOL_MAX, POSTGRES_READ_POOL_MAX } = config
  const watch = await PostgresWatch.open(POSTGRES_URL)
  const connections = new PostgresConnections(config, watch, { max: POSTGRES_POOL_MAX, types: typesOfOrm() })
  await connections.reserve().catch(async (error: unknown) => {
    await watch.close()
    throw error
  })
  const driverOptions = new PostgresOnConnections(connections)
  const orm = new MikroORM({ ...commonOptions('postgres'), ...logging, entities, clientUrl: POSTGRES_URL, driverOptions })
  return {
    orm,
    now: watch.now,
    async source() {
      const reads = new PostgresConnections(config, watch, { max: POSTGRES_READ_POOL_MAX })
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
  new MikroORM({ ...commonOptions('postgres'), entities, clientUrl: POSTGRES_URL, pool: { max: 1 } })

/** Returns type parsers that leave dates as text, because the ORM converts them itself. */
function typesOfOrm(): TypeOverrides {
  const types = new TypeOverrides()
  const { DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL } = defaults.builtins
  for (const type of [DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL]) types.setTypeParser(type, (text: string) => text)
  return types
}
