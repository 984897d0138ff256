import type { Options as CoreOptions } from '@mikro-orm/core'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'

/** The settings that the database layer reads. */
export type DatabaseConfig = Pick<Config, 'CACHE_BYTES' | 'SQLITE_PATH' | Extract<keyof Config, `DB_${string}` | `POSTGRES_${string}`>>

/** ORM options that log every statement. */
export type Logging = { debug?: 'query'[]; colors?: boolean; logger?: (sql: string) => void }

/** ORM options for both databases. The schema generator skips tables that are plain SQL per database: search, counts, rate limits. */
export const commonOptions = (backend: Config['DB_BACKEND']) =>
  ({
    forceUtcTimezone: true,
    ensureDatabase: false, // a misspelled name must not create a new database
    ignoreUndefinedInQuery: false,
    implicitTransactions: true,
    schemaGenerator: {
      skipTables: [
        /^package_(?:search|dependents$|requirements$|totals$)/,
        /^dependent_counts$/,
        /^daily_totals$/,
        /^rate_limits$/,
        /^write_probe$/,
      ],
      ignoreTriggers: true,
    },
    migrations: {
      path: join(import.meta.dirname, 'migrations', backend),
      pathTs: join(import.meta.dirname, 'migrations', backend),
      snapshot: false,
      tableName: 'schema_migrations',
      emit: 'ts',
      allOrNothing: true,
      silent: true, // its output does not match the log format
    },
  }) satisfies Partial<CoreOptions>

/** Current usage of a connection pool. */
export type PoolState = {
  pool: 'transactions' | 'reads'
  /** Maximum number of connections. */
  max: number
  open: number
  idle: number
  /** Number of callers that wait for a connection. */
  waiting: number
}
