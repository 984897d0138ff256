import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import SqliteDatabase from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { entities } from '../entities.ts'
import { lockSqlite } from './lock.ts'
import { isMigrated, migrate } from './migrate.ts'
import { explainMissing } from './missing.ts'
import { commonOptions, type DatabaseConfig } from './options.ts'
import { keepPrivate, makeFolder } from './private-files.ts'
import { writeProbe } from './probe.ts'
import { openReads, type Reads, type Source } from './reads.ts'
import { sqliteReads } from './sqlite-reads.ts'
import { SqliteWriter } from './sqlite-writer.ts'

/** The open database: the ORM for units of work, prepared reads for what every request needs. */
export type Database = {
  backend: DatabaseConfig['DB_BACKEND']
  orm: MikroORM
  reads: Reads
  /** A fresh entity manager, for one request or one job. */
  fork(): EntityManager
  /** Writes a row. @throws DatabaseAway when that takes longer than `timeoutMs`; any error that says why nothing can be written. */
  probeWrite(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the database, brings its schema up to date under a lock, and keeps a second process off an SQLite file.
 * `onQuery` hears of every statement; `beforeMigrating` may refuse the database before anything is changed in it.
 * @throws Error when the file is in use or its schema is newer than this program; ConfigError when PostgreSQL does not have the database.
 */
export async function openDatabase(
  config: DatabaseConfig,
  onQuery?: (sql: string) => void,
  beforeMigrating?: (orm: MikroORM) => Promise<void>,
): Promise<Database> {
  const unlock = config.DB_BACKEND === 'sqlite' ? lockFile(config.SQLITE_PATH) : () => {}
  const opened = await openOrm(config, onQuery)
  const { orm } = opened
  try {
    await beforeMigrating?.(orm)
    await migrate(orm, config)
    const reads = openReads(await openSource(opened, config), onQuery)
    const close = async () => {
      await reads.close()
      await orm.close(true)
      unlock()
    }
    return { backend: config.DB_BACKEND, orm, reads, fork: () => orm.em.fork(), probeWrite: writeProbe(orm), close }
  } catch (error) {
    await orm.close(true)
    unlock()
    throw explainMissing(error, config)
  }
}

/**
 * Opens the database of a server that may be running: without its lock, and without changing the schema.
 * @throws Error when no server of this version has made the database ready.
 */
export async function openBeside(config: DatabaseConfig): Promise<MikroORM> {
  // Opening a file that is not there would make one.
  if (config.DB_BACKEND === 'sqlite' && !existsSync(config.SQLITE_PATH))
    throw new Error(`There is no database at ${config.SQLITE_PATH}. Start the server once.`)
  const { orm } = await openOrm(config)
  try {
    if (!(await isMigrated(orm, config)))
      throw new Error('The database was last used by an older version. Start this version of the server once.')
    return orm
  } catch (error) {
    await orm.close(true)
    throw explainMissing(error, config)
  }
}

type Opened = { orm: MikroORM; writer?: SqliteWriter }

async function openSource({ writer }: Opened, config: DatabaseConfig): Promise<Source> {
  if (writer) return sqliteReads(config.SQLITE_PATH, () => writer.native)
  const { postgresReads } = await import('./postgres-reads.ts')
  return postgresReads(config.POSTGRES_URL ?? '')
}

const logging = (onQuery?: (sql: string) => void) => (onQuery ? { debug: ['query' as const], colors: false, logger: onQuery } : {})

function lockFile(path: string) {
  makeFolder(dirname(path))
  return lockSqlite(`${path}.lock`)
}

const openOrm = (config: DatabaseConfig, onQuery?: (sql: string) => void): Promise<Opened> =>
  config.DB_BACKEND === 'sqlite' ? openSqlite(config, onQuery) : openPostgres(config.POSTGRES_URL ?? '', onQuery)

async function openSqlite(config: DatabaseConfig, onQuery?: (sql: string) => void): Promise<Opened> {
  const { MikroORM } = await import('@mikro-orm/sqlite')
  const writer = new SqliteWriter(() => openNative(config.SQLITE_PATH), config.DB_POOL_TIMEOUT_MS)
  const options = { ...commonOptions('sqlite'), ...logging(onQuery), entities, dbName: config.SQLITE_PATH, driverOptions: writer }
  return { orm: new MikroORM(options), writer }
}

function openNative(path: string): SqliteDatabase.Database {
  keepPrivate(path)
  const native = new SqliteDatabase(path, { timeout: 2000 })
  // Whoever waits here holds up everybody: see SqliteWriter, which waits between tries instead.
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 20']) native.pragma(pragma)
  return native
}

async function openPostgres(url: string, onQuery?: (sql: string) => void): Promise<Opened> {
  const { MikroORM } = await import('@mikro-orm/postgresql')
  const orm = new MikroORM({ ...commonOptions('postgres'), ...logging(onQuery), entities, clientUrl: url, pool: { max: 10 } })
  return { orm }
}
