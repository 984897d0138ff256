import type { MikroORM } from '@mikro-orm/sql'
import type { PoolState } from '../pool-state.ts'
import type { Source } from '../reads/reads.ts'
import type { TellOfReplica } from '../postgres/replica.ts'

/** An open database of either kind. */
export type Opened = {
  orm: MikroORM
  /** The time that all instances share. */
  now: () => Date
  /** Opens the reads beside the ORM, once the schema is up to date. */
  source: () => Promise<Source>
  /** Opens reads that use the replica of the settings when they can, and else what `source` gave; null when the settings name none. */
  replica?: (primary: Source, tell: TellOfReplica) => Promise<Source | null>
  /** How the connections for transactions are used. */
  pool: () => PoolState
  close: () => Promise<void>
}
