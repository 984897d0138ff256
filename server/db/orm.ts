import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import type { Database as NativeSqlite } from 'better-sqlite3'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { entities } from '../entities.ts'
import { lockSqlite } from './lock.ts'
import { isMigrated, migrate } from './migrate.ts'
import { commonOptions, type DatabaseConfig } from './options.ts'
import { openReads, type Reads, type Source } from './reads.ts'
import { sqliteReads } from './sqlite-reads.ts'

/** The open database: the ORM for units of work, prepared reads for what every request needs. */
export type Database = {
  backend: DatabaseConfig['DB_BACKEND']
  orm: MikroORM
  reads: Reads
  /** A fresh entity manager, for one request or one job. */
  fork(): EntityManager
  close(): Promise<void>
}

/**
 * Opens the database, brings its schema up to date under a lock, and keeps a second process off an SQLite file.
 * `onQuery` hears of every statement.
 * @throws Error when the file is in use or its schema is newer than this program; the message says what to do.
 */
export async function openDatabase(config: DatabaseConfig, onQuery?: (sql: string) => void): Promise<Database> {
  const unlock = config.DB_BACKEND === 'sqlite' ? lockFile(config.SQLITE_PATH) : () => {}
  const orm =
    config.DB_BACKEND === 'sqlite' ? await openSqlite(config.SQLITE_PATH, onQuery) : await openPostgres(config.POSTGRES_URL ?? '', onQuery)
  try {
    await migrate(orm, config)
    const reads = openReads(await openSource(orm, config), onQuery)
    const close = async () => {
      await reads.close()
      await orm.close(true)
      unlock()
    }
    return { backend: config.DB_BACKEND, orm, reads, fork: () => orm.em.fork(), close }
  } catch (error) {
    await orm.close(true)
    unlock()
    throw error
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
  const orm = config.DB_BACKEND === 'sqlite' ? await openSqlite(config.SQLITE_PATH) : await openPostgres(config.POSTGRES_URL ?? '')
  try {
    if (!(await isMigrated(orm, config)))
      throw new Error('The database was last used by an older version. Start this version of the server once.')
    return orm
  } catch (error) {
    await orm.close(true)
    throw error
  }
}

async function openSource(orm: MikroORM, config: DatabaseConfig): Promise<Source> {
  if (config.DB_BACKEND === 'sqlite') return sqliteReads(config.SQLITE_PATH, await nativeSqlite(orm))
  const { postgresReads } = await import('./postgres-reads.ts')
  return postgresReads(config.POSTGRES_URL ?? '')
}

/** The one connection that the ORM has on SQLite. */
const nativeSqlite = (orm: Pick<MikroORM, 'em'>) => orm.em.getConnection().getNativeClient() as Promise<NativeSqlite>

const logging = (onQuery?: (sql: string) => void) => (onQuery ? { debug: ['query' as const], colors: false, logger: onQuery } : {})

function lockFile(path: string) {
  mkdirSync(dirname(path), { recursive: true })
  return lockSqlite(`${path}.lock`)
}

async function openSqlite(path: string, onQuery?: (sql: string) => void): Promise<MikroORM> {
  const { MikroORM } = await import('@mikro-orm/sqlite')
  const orm = new MikroORM({ ...commonOptions('sqlite'), ...logging(onQuery), entities, dbName: path })
  const native = await nativeSqlite(orm)
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'busy_timeout = 5000']) native.pragma(pragma)
  return orm
}

async function openPostgres(url: string, onQuery?: (sql: string) => void): Promise<MikroORM> {
  const { MikroORM } = await import('@mikro-orm/postgresql')
  const orm = new MikroORM({ ...commonOptions('postgres'), ...logging(onQuery), entities, clientUrl: url, pool: { max: 10 } })
  return orm
}
