import type { Constructor, MigrationObject } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import type { MikroORM } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from '../options.ts'
import { applied, isMigrated, oldestKey, writerKey } from './schema-state.ts'
import { version } from '../../config/version.ts'

/** An arbitrary key for the advisory lock that is unlikely to be used by another program. */
const advisoryLock = 7_305_514_901
/**
 * Lock timeout of a migration per table, and pause before a retry, in milliseconds. Short, because other sessions queue behind a waiting migration,
 * and PostgresWatch rejects statements on a table that is locked in two checks 500 ms apart.
 */
const [lockMs, pauseMs] = [100, 700]
const lockNotAvailable = '55P03'

/** Reports a migration step of a database that is not new. */
export type MigrationListener = (message: string) => void

/**
 * Migrates the schema to the current version. On PostgreSQL, other instances wait for an advisory lock until `orm` is closed. `report` is called
 * before each migration of a database that is not new.
 * @throws Error if the database was written by a newer version of this program.
 */
export async function migrate(orm: MikroORM, config: DatabaseConfig, report?: MigrationListener): Promise<void> {
  if (await isMigrated(orm, config)) return
  if (config.DB_BACKEND === 'postgres') {
    await orm.em.getConnection().execute('select pg_advisory_lock(?)', [advisoryLock])
    // Another instance, possibly a newer one, may have migrated while this one waited for the lock.
    if (await isMigrated(orm, config)) return
  }
  await run(orm, config, { report })
}

/** Runs only the named migrations. Used before filling a database from a source that had these migrations. */
export const migrateTo = (orm: MikroORM, config: DatabaseConfig, names: string[]): Promise<void> => run(orm, config, { names })

type Run = { names?: string[]; report?: MigrationListener | undefined }

async function run(orm: MikroORM, { DB_BACKEND }: DatabaseConfig, { names, report = () => {} }: Run): Promise<void> {
  // Loaded on demand, because the migrator is slow to load.
  const { Migrator } = await import('@mikro-orm/migrations')
  const migrationsList = await Promise.all(migrationNames(DB_BACKEND).map((name) => load(DB_BACKEND, name)))
  orm.config.set('migrations', { ...orm.config.get('migrations'), migrationsList })
  const migrator = new Migrator(orm.em)
  const reported = new Set((await applied(orm)).length > 0 ? [] : migrationNames(DB_BACKEND))
  migrator.on('migrating', ({ name }) => {
    if (!reported.has(name)) report(`Upgrading the database: ${name}`)
    reported.add(name)
  })
  // Creates the migrations table, which is not possible within the transaction.
  await migrator.getPending()
  const connection = orm.em.getConnection()
  const once = () =>
    connection.transactional(async (transaction) => {
      if (DB_BACKEND === 'postgres') await connection.execute(`set local lock_timeout = ${lockMs}`, [], 'run', transaction)
      await migrator.up({ transaction, ...(names && { migrations: names }) })
      const note = 'insert into server_settings (key, value) values (?, ?), (?, ?) on conflict (key) do update set value = excluded.value'
      const values = [writerKey, JSON.stringify(version), oldestKey, JSON.stringify(previousRelease.version)]
      await connection.execute(note, values, 'run', transaction)
    })
  await retryOnLockTimeout(once, report)
}

/** Retries on a lock timeout, while another session such as a backup uses a table. */
async function retryOnLockTimeout(work: () => Promise<void>, report: MigrationListener): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error
      if (attempt === 1) report('The database upgrade waits for another session that keeps its tables locked.')
      await sleep(pauseMs)
    }
  }
}

async function load(backend: DatabaseConfig['DB_BACKEND'], name: string): Promise<MigrationObject> {
  const module = (await import(`../migrations/${backend}/${name}.ts`)) as Record<string, Constructor<Migration>>
  const found = module[name]
  if (!found) throw new Error(`The migration ${name} is not in its file.`)
  return { name, class: found }
}

/**
 * The previous release and its last migration. During a rolling upgrade, servers of that release use the same database, so later migrations may only
 * add to the schema that it uses. Update this value when the version in package.json is raised.
 */
export const previousRelease = { version: '0.5.0', lastMigration: 'Migration20261125000018_drop_search_excerpts' }
