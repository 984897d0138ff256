import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import { dirname } from 'node:path'
import { setClock } from '../clock.ts'
import { isThere } from '../location/is-there.ts'
import { lockSqlite } from '../location/lock.ts'
import { meterStatements, type StatementWatch } from '../meter.ts'
import { migrate, type Tell } from '../schema/migrate.ts'
import { explainMissing, nameOfDatabase } from '../location/missing.ts'
import { refuseMoved, refuseUnfinished } from '../location/moved.ts'
import type { Opened } from './opened.ts'
import type { DatabaseConfig, Logging } from '../options.ts'
import type { PoolState } from '../pool-state.ts'
import { makeFolder } from '../location/private-files.ts'
import { writeProbe } from './probe.ts'
import { openReads, type Reads } from '../reads/reads.ts'
import type { TellOfReplica } from '../postgres/replica.ts'
import { isMigrated, migrationsOf } from '../schema/schema-state.ts'
import { reportStatements } from '../statements.ts'
import { type MoveState, moveStateOf } from '../location/write-guard.ts'
import { adminCommand } from '../../version.ts'

/** The open database: the ORM for units of work, prepared reads for what every request needs. */
export type Database = {
  backend: DatabaseConfig['DB_BACKEND']
  orm: MikroORM
  reads: Reads
  /**
   * The same for what weighs and only shows something: on a replica (POSTGRES_READ_URL) while that has all that the primary has. What decides
   * (who asks, rights, switches, limits) and what a change is made from is read by `reads`.
   */
  heavyReads: Reads
  /** A fresh entity manager, for one request or one job. */
  fork(): EntityManager
  /** The time that all instances on this database share. */
  now: () => Date
  /** How the connections are used. */
  pools: () => PoolState[]
  /** Whether it is being moved to PostgreSQL, or was: then it can only be read. */
  moveState: () => MoveState
  /** Writes a row. @throws DatabaseAway when that takes longer than `timeoutMs`; any error that says why nothing can be written. */
  probeWrite(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

type Options = {
  /** Hears of every statement. */
  onQuery?: ((sql: string) => void) | undefined
  /** Runs every statement. */
  watch?: StatementWatch | undefined
  /** May refuse a database that this version works on, before anything is changed in it. */
  beforeMigrating?: (orm: MikroORM) => Promise<void>
  /** Hears of each migration of a database that was in use before. */
  onMigration?: Tell
  /** Has the replica of the settings used, and hears of it. */
  onReplica?: TellOfReplica
  /** For the move of a database itself: it works on what everybody else has to leave alone. */
  isMove?: boolean
}

/**
 * Opens the database, brings its schema up to date under a lock, and keeps a second process off an SQLite file.
 * @throws Error when the file is in use; ConfigError when it cannot be used, its schema is newer than this program, PostgreSQL does not have the
 * database, or it was moved elsewhere or is not all here yet.
 */
export async function openDatabase(
  config: DatabaseConfig,
  { onQuery, watch, beforeMigrating, onMigration, onReplica, isMove = false }: Options = {},
): Promise<Database> {
  if (!isMove) refuseMoved(config)
  const unlock = config.DB_BACKEND === 'sqlite' ? lockFile(config) : () => {}
  const opened = await open(config, onQuery).catch((error: unknown) => {
    unlock()
    throw explainMissing(error, config)
  })
  const { orm } = opened
  try {
    if (!isMove) await refuseUnfinished(orm, config)
    refuseMoving(config)
    // First of all, whether it can be used: the rest may make folders.
    const isCurrent = await isMigrated(orm, config)
    await beforeMigrating?.(orm)
    if (!isCurrent) await bringUpToDate(orm, config, onMigration)
    meterStatements(orm, watch)
    const { reads, heavyReads } = await openSources(opened, { onQuery, watch, onReplica })
    const close = async () => {
      if (heavyReads !== reads) await heavyReads.close()
      await reads.close()
      await opened.close()
      unlock()
    }
    setClock(orm.em, opened.now)
    reportStatements(orm.em, { onQuery, watch })
    const { now } = opened
    const { pool } = reads
    const { replica } = heavyReads
    const pools = () => [opened.pool(), ...(pool ? [pool.state('reads')] : []), ...(replica ? [replica.state()] : [])]
    const fork = () => orm.em.fork()
    const moveState = () => moveStateOf(config)
    return { backend: config.DB_BACKEND, orm, reads, heavyReads, fork, now, pools, moveState, probeWrite: writeProbe(orm), close }
  } catch (error) {
    await opened.close()
    unlock()
    throw explainMissing(error, config)
  }
}

/** Without a replica, what weighs is read where everything is. */
async function openSources(opened: Opened, { onQuery, watch, onReplica }: Options): Promise<Pick<Database, 'reads' | 'heavyReads'>> {
  const source = await opened.source()
  const reads = openReads(source, onQuery, watch)
  const elsewhere = onReplica ? await opened.replica?.(source, onReplica) : null
  return { reads, heavyReads: elsewhere ? openReads(elsewhere, onQuery, watch) : reads }
}

/** A server that starts has to write before it can answer. */
function refuseMoving(config: DatabaseConfig): void {
  if (moveStateOf(config) === 'moving')
    throw new Error(`${config.SQLITE_PATH} is being moved to PostgreSQL. Start the server when that has ended.`)
}

/** What changes the schema may take as long as it takes, so it has a connection without time-outs. */
async function bringUpToDate(orm: MikroORM, config: DatabaseConfig, tell?: Tell): Promise<void> {
  const patient = config.DB_BACKEND === 'sqlite' ? orm : await openPatiently(config)
  try {
    await migrate(patient, config, tell)
  } finally {
    if (patient !== orm) await patient.close(true)
  }
}

/**
 * Opens the database of a server that may be running: without its lock, and without changing the schema.
 * @throws Error when no server of this version has made the database ready; ConfigError when it was moved elsewhere or is not all here yet.
 */
export async function openBeside(config: DatabaseConfig, { isMove = false }: Pick<Options, 'isMove'> = {}): Promise<MikroORM> {
  if (!isMove) refuseMoved(config)
  // Opening a file that is not there would make one.
  if (config.DB_BACKEND === 'sqlite' && !isThere(config.SQLITE_PATH, { writable: true }))
    throw new Error(`There is no database at ${config.SQLITE_PATH}. Start the server once.`)
  const orm = await openPatiently(config)
  try {
    if (!isMove) await refuseUnfinished(orm, config)
    if (!(await isMigrated(orm, config))) throw await unready(orm, config)
    return orm
  } catch (error) {
    await orm.close(true)
    throw explainMissing(error, config)
  }
}

/** The error for a database that no server of this version has made ready. */
async function unready(orm: MikroORM, config: DatabaseConfig): Promise<Error> {
  const { isNew } = await migrationsOf(orm, config)
  if (!isNew) return new Error('The database was last used by an older version. Start this version of the server once.')
  const [name, setting] = [nameOfDatabase(config), config.DB_BACKEND === 'sqlite' ? 'SQLITE_PATH' : 'POSTGRES_URL']
  return new Error(
    `There is nothing in ${name} yet. Start the server once; or if it should have packages, correct ${setting} or restore a backup: ${adminCommand} restore <place>`,
  )
}

/**
 * Opens the database to look at it, whatever its schema is: without its lock, and without changing anything. Null for a file that does not exist.
 * @throws Error when it cannot be reached; ConfigError when it was moved elsewhere or is not all here yet.
 */
export async function openToLook(config: DatabaseConfig): Promise<MikroORM | null> {
  refuseMoved(config)
  if (config.DB_BACKEND === 'sqlite' && !isThere(config.SQLITE_PATH, { writable: true })) return null
  const orm = await openPatiently(config).catch((error: unknown) => {
    throw explainMissing(error, config)
  })
  try {
    await orm.em.getConnection().execute('select 1')
    await refuseUnfinished(orm, config)
    return orm
  } catch (error) {
    await orm.close(true)
    throw explainMissing(error, config)
  }
}

function lockFile(config: DatabaseConfig) {
  try {
    makeFolder(dirname(config.SQLITE_PATH))
    return lockSqlite(`${config.SQLITE_PATH}.lock`)
  } catch (error) {
    throw explainMissing(error, config)
  }
}

async function open(config: DatabaseConfig, onQuery?: (sql: string) => void): Promise<Opened> {
  const logging: Logging = onQuery ? { debug: ['query'], colors: false, logger: onQuery } : {}
  if (config.DB_BACKEND === 'sqlite') return (await import('./open-sqlite.ts')).openSqlite(config, logging)
  return (await import('./open-postgres.ts')).openPostgres(config, logging)
}

/** For what changes the schema, and for the operator's commands: it may take as long as it takes. */
async function openPatiently(config: DatabaseConfig): Promise<MikroORM> {
  if (config.DB_BACKEND === 'sqlite') return (await open(config)).orm
  return (await import('./open-postgres.ts')).openPatiently(config)
}
