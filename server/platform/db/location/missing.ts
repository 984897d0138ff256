import { dirname } from 'node:path'
import { ConfigError } from '../../config/config.ts'
import { explainPathError } from '../../config/paths.ts'
import type { DatabaseConfig } from '../options.ts'
import { endsConnection, isOutOfConnections } from '../unavailable.ts'

type Place = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/** Returns the name of a database for messages, without its password. */
export function nameOfDatabase({ DB_BACKEND, SQLITE_PATH, POSTGRES_URL = '' }: Place): string {
  if (DB_BACKEND === 'sqlite') return `the database ${SQLITE_PATH}`
  const url = URL.canParse(POSTGRES_URL) ? new URL(POSTGRES_URL) : null
  return url ? `the database "${decodeURIComponent(url.pathname.slice(1))}" on ${url.host}` : 'the database'
}

/**
 * Returns an error that explains why the database cannot be used and what to check: a ConfigError if only a changed setting can help. Other errors
 * are returned unchanged.
 */
export function explainMissing(error: unknown, config: DatabaseConfig): unknown {
  if (config.DB_BACKEND === 'sqlite') return explainPathError(explainFull(error, config), 'SQLITE_PATH', config.SQLITE_PATH)
  const { code } = error as { code?: unknown }
  if (code === invalidCatalogName)
    return new ConfigError([
      `POSTGRES_URL: ${nameOfDatabase(config)} does not exist, and the server creates none. Create the database first (createdb), or correct the name.`,
    ])
  if (typeof code === 'string' && invalidAuthorization.test(code))
    return new ConfigError([
      `POSTGRES_URL: PostgreSQL at ${addressOf(config)} refuses the account: ${reasonOf(error)}. Check the user, the password and pg_hba.conf.`,
    ])
  if (isOutOfConnections(error)) return tooFewConnections(error, config)
  if (!endsConnection(error)) return error
  return new Error(
    `Cannot connect to PostgreSQL at ${addressOf(config)}: ${reasonOf(error)}. Check that it runs and accepts connections there, and the host and port in POSTGRES_URL.`,
    { cause: error },
  )
}

/** Adds the directory to the error of an SQLite file that cannot grow, because SQLite does not report it. Returns other errors unchanged. */
export function explainFull(error: unknown, { DB_BACKEND, SQLITE_PATH }: Place): unknown {
  if (DB_BACKEND !== 'sqlite' || !(error instanceof Error && 'code' in error && error.code === 'SQLITE_FULL')) return error
  const place = dirname(SQLITE_PATH)
  return new Error(`No space is left in ${place}, where the database is stored. Free some space, then start again.`, { cause: error })
}

function tooFewConnections(error: unknown, config: DatabaseConfig): ConfigError {
  const { POSTGRES_POOL_MAX: writes, POSTGRES_READ_POOL_MAX: reads } = config
  return new ConfigError([
    `POSTGRES_URL: PostgreSQL at ${addressOf(config)} has too few free connections: ${reasonOf(error)}. The server needs at least 3 connections, and ` +
      `uses up to ${writes + reads + 1}: POSTGRES_POOL_MAX (${writes}), POSTGRES_READ_POOL_MAX (${reads}) and one for monitoring. Raise PostgreSQL's ` +
      `max_connections, or the CONNECTION LIMIT of the role or the database, or reduce the connections that other programs and servers use.`,
  ])
}

// SQLSTATE codes of PostgreSQL.
const invalidCatalogName = '3D000'
const invalidAuthorization = /^28/

function addressOf({ POSTGRES_URL = '' }: Place): string {
  if (!URL.canParse(POSTGRES_URL)) return 'POSTGRES_URL'
  const { hostname, port, searchParams } = new URL(POSTGRES_URL)
  return `${searchParams.get('host') ?? (hostname || 'localhost')}:${searchParams.get('port') ?? (port || '5432')}`
}

/** Returns the reason for a failure. A host name with several addresses has one error per address. */
function reasonOf(error: unknown): string {
  const { message, errors } = error as { message?: unknown; errors?: unknown }
  if (Array.isArray(errors)) return errors.map(reasonOf).join(', ')
  return String(message)
}
