import type { MikroORM } from '@mikro-orm/sql'
import type { PoolState } from '../pool-state.ts'
import type { Source } from '../reads/reads.ts'

/** An open database, SQLite or PostgreSQL. */
export type OpenedDatabase = {
  orm: MikroORM
  /** Returns the time shared by all instances. */
  now: () => Date
  /** Opens the connections for prepared reads. Call after migrating the schema. */
  source: () => Promise<Source>
  /** Returns the usage of the connections for transactions. */
  pool: () => PoolState
  close: () => Promise<void>
}
