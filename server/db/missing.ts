import { ConfigError } from '../config.ts'
import type { DatabaseConfig } from './options.ts'

type Place = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/** A database as messages name it, without its password. */
export function nameOfDatabase({ DB_BACKEND, SQLITE_PATH, POSTGRES_URL = '' }: Place): string {
  if (DB_BACKEND === 'sqlite') return `the database ${SQLITE_PATH}`
  const url = URL.canParse(POSTGRES_URL) ? new URL(POSTGRES_URL) : null
  return url ? `the database "${decodeURIComponent(url.pathname.slice(1))}" on ${url.host}` : 'the database'
}

/** The error of a PostgreSQL that does not have the database, with what to do about it; every other error as it is. */
export function explainMissing(error: unknown, config: DatabaseConfig): unknown {
  if ((error as { code?: unknown }).code !== invalidCatalogName) return error
  return new ConfigError([
    `POSTGRES_URL: ${nameOfDatabase(config)} does not exist, and the server creates none. Create it first (createdb), or correct the name.`,
  ])
}

/** PostgreSQL's code for it. */
const invalidCatalogName = '3D000'
