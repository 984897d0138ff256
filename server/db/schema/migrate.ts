import type { Constructor, MigrationObject } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import type { MikroORM } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from '../options.ts'
import { previousRelease } from './previous-release.ts'
import { applied, isMigrated, oldestKey, writerKey } from './schema-state.ts'
import { version } from '../../version.ts'

/** Any number that no other program is likely to lock on the same PostgreSQL. */
const advisoryLock = 7_305_514_901
/**
 * How long a migration waits for each table that it changes, and lets others go on before it tries again: whoever needs one of them waits behind
 * it, and a table that is found locked twice in half a second is not waited for.
 */
const [lockMs, pauseMs] = [100, 700]
const lockNotAvailable = '55P03'

/** Hears what happens to a database that was in use before. */
export type Tell = (message: string) => void

/**
 * Brings the schema up to date. On PostgreSQL an advisory lock keeps other instances waiting until `orm` is closed, whose connection has it;
 * SQLite has one process. `tell` hears of each migration of a database that was in use before, when it begins.
 * @throws Error when the database was written by a newer version of this program.
 */
export async function migrate(orm: MikroORM, config: DatabaseConfig, tell?: Tell): Promise<void> {
  if (await isMigrated(orm, config)) return
  if (config.DB_BACKEND === 'postgres') {
    await orm.em.getConnection().execute('select pg_advisory_lock(?)', [advisoryLock])
    // Another instance, and perhaps a newer one, may have migrated meanwhile.
    if (await isMigrated(orm, config)) return
  }
  await run(orm, config, { tell })
}

/** Runs just these migrations, on a database that is to be filled by what had them. */
export const migrateTo = (orm: MikroORM, config: DatabaseConfig, names: string[]): Promise<void> => run(orm, config, { names })

type Run = { names?: string[]; tell?: Tell | undefined }

async function run(orm: MikroORM, { DB_BACKEND }: DatabaseConfig, { names, tell = () => {} }: Run): Promise<void> {
  // Only needed when there is something to do: the migrator takes a while to load.
  const { Migrator } = await import('@mikro-orm/migrations')
  const migrationsList = await Promise.all(migrationNames(DB_BACKEND).map((name) => load(DB_BACKEND, name)))
  orm.config.set('migrations', { ...orm.config.get('migrations'), migrationsList })
  const migrator = new Migrator(orm.em)
  const told = new Set((await applied(orm)).length > 0 ? [] : migrationNames(DB_BACKEND))
  migrator.on('migrating', ({ name }) => {
    if (!told.has(name)) tell(`Upgrading the database: ${name}`)
    told.add(name)
  })
  // Makes its own table, which is not possible within the transaction.
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
  await givingWay(once, tell)
}

/** Tries again and again while somebody else uses a table for long, as a backup does. */
async function givingWay(work: () => Promise<void>, tell: Tell): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error
      if (attempt === 1) tell('Upgrading the database waits until nobody else uses its tables for long.')
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
