import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import { dirname } from 'node:path'
import { setClock } from '../base.ts'
import { isThere, lockSqlite, makeFolder } from '../location/files.ts'
import { meterStatements, type StatementWatch } from '../meter.ts'
import { migrate, type MigrationListener } from '../schema/migrate.ts'
import { explainMissing, nameOfDatabase } from '../location/missing.ts'
import { rejectMoved, rejectUnfinished, type MoveState, moveStateOf } from '../location/moved.ts'
import type { DatabaseConfig, Logging, PoolState } from '../options.ts'
import { openReads, type Reads, type Source } from '../reads.ts'
import { isMigrated, migrationsOf } from '../schema/schema-state.ts'
import { db } from '../query.ts'
import { changeRows, reportStatements } from '../statements.ts'
import { adminCommand } from '../../config/version.ts'
import { DatabaseAway } from '../unavailable.ts'

/** The open database: the ORM for units of work, and prepared reads for hot paths. */
export type Database = {
  backend: DatabaseConfig['DB_BACKEND']
  orm: MikroORM
  reads: Reads
  /** Returns a new entity manager for one request or one job. */
  fork(): EntityManager
  /** Returns the time shared by all instances that use this database. */
  now: () => Date
  /** Returns the usage of each connection pool. */
  pools: () => PoolState[]
  /** Returns whether the database is being moved to PostgreSQL or was moved. It is read-only in both states. */
  moveState: () => MoveState
  /** Writes a row to check that writes work. @throws DatabaseAway after `timeoutMs` milliseconds, or the error that prevents writes. */
  probeWrite(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

type Options = {
  /** Called with the text of every statement. */
  onQuery?: ((sql: string) => void) | undefined
  /** Wraps the execution of every statement. */
  watch?: StatementWatch | undefined
  /** Called before the schema is changed. May throw to reject the database. */
  beforeMigrating?: (orm: MikroORM) => Promise<void>
  /** Called for each migration of a database that is not new. */
  onMigration?: MigrationListener
  /** Set by the `move-database` command, which must open a database that is being moved. */
  isMove?: boolean
}

/**
 * Opens the database, migrates its schema under a lock, and locks an SQLite file against a second process.
 * @throws Error if the file is in use.
 * @throws ConfigError if the database does not exist or cannot be used, its schema is newer than this program, it was moved elsewhere, or a move to
 * it is incomplete.
 */
export async function openDatabase(
  config: DatabaseConfig,
  { onQuery, watch, beforeMigrating, onMigration, isMove = false }: Options = {},
): Promise<Database> {
  if (!isMove) rejectMoved(config)
  const unlock = config.DB_BACKEND === 'sqlite' ? lockFile(config) : () => {}
  const opened = await open(config, onQuery).catch((error: unknown) => {
    unlock()
    throw explainMissing(error, config)
  })
  const { orm } = opened
  try {
    if (!isMove) await rejectUnfinished(orm, config)
    rejectMoving(config)
    // Check that the database is usable before anything else, because later steps may create directories.
    const isCurrent = await isMigrated(orm, config)
    await beforeMigrating?.(orm)
    if (!isCurrent) await migrateSchema(orm, config, onMigration)
    meterStatements(orm, watch)
    const reads = openReads(await opened.source(), onQuery, watch)
    const close = async () => {
      await reads.close()
      await opened.close()
      unlock()
    }
    setClock(orm.em, opened.now)
    reportStatements(orm.em, { onQuery, watch })
    const { now } = opened
    const { pool } = reads
    const pools = () => [opened.pool(), ...(pool ? [pool.state('reads')] : [])]
    const fork = () => orm.em.fork()
    const moveState = () => moveStateOf(config)
    return { backend: config.DB_BACKEND, orm, reads, fork, now, pools, moveState, probeWrite: writeProbe(orm), close }
  } catch (error) {
    await opened.close()
    unlock()
    throw explainMissing(error, config)
  }
}

/** Throws while the database is being moved, because a starting server must write before it can respond. */
function rejectMoving(config: DatabaseConfig): void {
  if (moveStateOf(config) === 'moving')
    throw new Error(`${config.SQLITE_PATH} is being moved to PostgreSQL. Start the server after the move.`)
}

/** Migrates the schema on a connection without timeouts, because migrations may take long. */
async function migrateSchema(orm: MikroORM, config: DatabaseConfig, report?: MigrationListener): Promise<void> {
  const unlimited = config.DB_BACKEND === 'sqlite' ? orm : await openWithoutTimeouts(config)
  try {
    await migrate(unlimited, config, report)
  } finally {
    if (unlimited !== orm) await unlimited.close(true)
  }
}

/**
 * Opens the database while a server may be running: without the file lock and without migrating.
 * @throws Error if its schema is not current.
 * @throws ConfigError if it was moved elsewhere or a move to it is incomplete.
 */
export async function openUnlocked(config: DatabaseConfig, { isMove = false }: Pick<Options, 'isMove'> = {}): Promise<MikroORM> {
  if (!isMove) rejectMoved(config)
  // Opening a missing SQLite file would create it.
  if (config.DB_BACKEND === 'sqlite' && !isThere(config.SQLITE_PATH, { writable: true }))
    throw new Error(`There is no database at ${config.SQLITE_PATH}. Start the server once.`)
  const orm = await openWithoutTimeouts(config)
  return orClose(orm, config, async () => {
    if (!isMove) await rejectUnfinished(orm, config)
    if (!(await isMigrated(orm, config))) throw await schemaNotCurrent(orm, config)
  })
}

/** Returns the ORM if `check` passes. Otherwise, closes it and throws an explained error. */
async function orClose(orm: MikroORM, config: DatabaseConfig, check: () => Promise<void>): Promise<MikroORM> {
  try {
    await check()
    return orm
  } catch (error) {
    await orm.close(true)
    throw explainMissing(error, config)
  }
}

/** Returns the error for a database whose schema is not current. */
async function schemaNotCurrent(orm: MikroORM, config: DatabaseConfig): Promise<Error> {
  const { isNew } = await migrationsOf(orm, config)
  if (!isNew) return new Error('The database was last used by an older version. Start this version of the server once.')
  const [name, setting] = [nameOfDatabase(config), config.DB_BACKEND === 'sqlite' ? 'SQLITE_PATH' : 'POSTGRES_URL']
  return new Error(
    `There is nothing in ${name} yet. Start the server once; or if it should have packages, correct ${setting} or restore a backup: ${adminCommand} restore <place>`,
  )
}

/**
 * Opens the database for inspection, whatever its schema: without locking or changing it. Returns null if the SQLite file does not exist.
 * @throws Error if the database cannot be reached.
 * @throws ConfigError if it was moved elsewhere or a move to it is incomplete.
 */
export async function openForInspection(config: DatabaseConfig): Promise<MikroORM | null> {
  rejectMoved(config)
  if (config.DB_BACKEND === 'sqlite' && !isThere(config.SQLITE_PATH, { writable: true })) return null
  const orm = await openWithoutTimeouts(config).catch((error: unknown) => {
    throw explainMissing(error, config)
  })
  return orClose(orm, config, async () => {
    await orm.em.getConnection().execute('select 1')
    await rejectUnfinished(orm, config)
  })
}

/** Milliseconds to wait for a server that is just stopping: npm exits on SIGTERM before the server that it started has stopped. */
const lockWaitMs = 5000

function lockFile(config: DatabaseConfig) {
  try {
    makeFolder(dirname(config.SQLITE_PATH))
    return lockSqlite(`${config.SQLITE_PATH}.lock`, lockWaitMs)
  } catch (error) {
    throw explainMissing(error, config)
  }
}

/** An open database, SQLite or PostgreSQL. */
type OpenedDatabase = {
  orm: MikroORM
  /** Returns the time shared by all instances. */
  now: () => Date
  /** Opens the connections for prepared reads. Call after migrating the schema. */
  source: () => Promise<Source>
  /** Returns the usage of the connections for transactions. */
  pool: () => PoolState
  close: () => Promise<void>
}

async function open(config: DatabaseConfig, onQuery?: (sql: string) => void): Promise<OpenedDatabase> {
  const logging: Logging = onQuery ? { debug: ['query'], colors: false, logger: onQuery } : {}
  if (config.DB_BACKEND === 'sqlite') return (await import('./open-sqlite.ts')).openSqlite(config, logging)
  return (await import('./open-postgres.ts')).openPostgres(config, logging)
}

/** Opens a database without timeouts, for migrations and operator commands. */
async function openWithoutTimeouts(config: DatabaseConfig): Promise<MikroORM> {
  if (config.DB_BACKEND === 'sqlite') return (await open(config)).orm
  return (await import('./open-postgres.ts')).openWithoutTimeouts(config)
}

/** Returns a write probe. Concurrent callers share one run. */
function writeProbe(orm: MikroORM): (timeoutMs?: number) => Promise<void> {
  let probing: Promise<void> | null = null
  return async (timeoutMs = 1500) => {
    probing ??= probe(orm).finally(() => (probing = null))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new DatabaseAway(`A write took longer than ${timeoutMs} ms.`)), timeoutMs)
    })
    try {
      await Promise.race([probing, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Writes in a transaction like any other, so that a stuck writer is detected. All instances share the row; its value has no meaning. */
async function probe(orm: MikroORM): Promise<void> {
  const insert = db.insertInto('write_probe').values({ id: 1, count: 1 })
  const write = insert.onConflict((known) =>
    known.column('id').doUpdateSet((eb) => ({ count: eb(eb('write_probe.count', '%', 1_000_000), '+', 1) })),
  )
  await orm.em.fork().transactional((em) => changeRows(em, write))
}

declare module '../query.ts' {
  interface Tables {
    write_probe: { id: number; count: number }
  }
}
