import type { MikroORM } from '@mikro-orm/sql'
import type { PoolState } from '../pool-state.ts'
import type { Source } from '../reads/reads.ts'
import type { ReplicaListener } from '../postgres/replica.ts'

/** An open database, SQLite or PostgreSQL. */
export type OpenedDatabase = {
  orm: MikroORM
  /** Returns the time shared by all instances. */
  now: () => Date
  /** Opens the connections for prepared reads. Call after migrating the schema. */
  source: () => Promise<Source>
  /** Opens reads that prefer the configured replica and fall back to `primary`. Resolves to null if no replica is configured. */
  replica?: (primary: Source, report: ReplicaListener) => Promise<Source | null>
  /** Returns the usage of the connections for transactions. */
  pool: () => PoolState
  close: () => Promise<void>
}
