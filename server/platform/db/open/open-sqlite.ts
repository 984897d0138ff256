import { MikroORM } from '@mikro-orm/sqlite'
import SqliteDatabase from 'better-sqlite3'
import { entities } from '../../../entities.ts'
import { checkpointInThread, maxLogPages } from '../sqlite/checkpoints.ts'
import { commonOptions, type DatabaseConfig, type Logging } from '../options.ts'
import { restrictToOwner } from '../location/files.ts'
import { shareOf } from '../../caches/caches.ts'
import { cacheSize, sqliteReads } from '../sqlite/sqlite-reads.ts'
import { SqliteWriter } from '../sqlite/sqlite-writer.ts'
import { guardWrites } from '../location/moved.ts'

/** Opens an SQLite file with one connection for the ORM and one for reads. */
export async function openSqlite(config: DatabaseConfig, logging: Logging) {
  const { CACHE_BYTES, SQLITE_PATH, DB_POOL_TIMEOUT_MS } = config
  const writer = new SqliteWriter(() => openNative(SQLITE_PATH), DB_POOL_TIMEOUT_MS, guardWrites(config))
  const orm = new MikroORM({ ...commonOptions('sqlite'), ...logging, entities, dbName: SQLITE_PATH, driverOptions: writer })
  checkpointInThread(SQLITE_PATH, writer)
  return {
    orm,
    // Only one process uses the file, so the local clock is the database clock.
    now: () => new Date(),
    source: async () => sqliteReads(SQLITE_PATH, writer, shareOf('rows', CACHE_BYTES), orm.getMetadata()),
    pool: () => writer.pool(),
    close: () => orm.close(true),
  }
}

function openNative(path: string): SqliteDatabase.Database {
  restrictToOwner(path)
  const native = new SqliteDatabase(path, { timeout: 2000 })
  // A busy timeout blocks the event loop, so it is short. SqliteWriter retries without blocking instead.
  const settings = [
    'journal_mode = WAL',
    'synchronous = FULL',
    'foreign_keys = ON',
    'busy_timeout = 20',
    `wal_autocheckpoint = ${maxLogPages}`,
    cacheSize,
  ]
  for (const setting of settings) native.pragma(setting)
  return native
}
