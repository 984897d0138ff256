import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import { setTimeout } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { nameOfDatabase } from '../../../platform/db/location/missing.ts'
import { openForInspection } from '../../../platform/db/open/orm.ts'
import { migrationsOf } from '../../../platform/db/schema/schema-state.ts'
import { moveStateOf } from '../../../platform/db/location/moved.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import { type Check, examine, failed, messageOf, passed, warning } from './check.ts'

/** Results of the database checks. The database stays open for further checks. */
export type DatabaseFindings = {
  checks: Check[]
  /** Null if the database is unavailable. Its schema may have any version. */
  orm: MikroORM | null
  /** Null unless the schema has the version of this program. */
  em: EntityManager | null
  aheadMs: number | null
  close: () => Promise<void>
}

/** Checks that the database responds, its version, its migrations, and the integrity of its file. */
export async function examineDatabase(config: Config, { quick }: { quick: boolean }): Promise<DatabaseFindings> {
  const found: DatabaseFindings = { checks: [], orm: null, em: null, aheadMs: null, close: async () => {} }
  found.checks = await examine('database', async () => {
    const orm = await openForInspection(config)
    if (!orm) return [warning('database', `${nameOf(config)} does not exist yet.`, firstStart)]
    // An unresponsive connection cannot be closed gracefully, so closing has a timeout.
    found.close = () => Promise.race([orm.close(true), setTimeout(2000, undefined, { ref: false })])
    const answer = await answerOf(orm, config)
    found.aheadMs = answer.aheadMs
    found.orm = orm
    const { check, isCurrent } = await checkMigrations(orm, config)
    if (isCurrent) found.em = orm.em.fork()
    return [checkMove(config, `${nameOf(config)} responds: ${answer.version}.`), check]
  })
  const isThere = found.checks.length > 1
  // Without the timeout of other checks: reading a large file may take minutes.
  if (isThere && config.DB_BACKEND === 'sqlite') found.checks.push(...(quick ? [] : await checkFile(config.SQLITE_PATH)))
  return found
}

const firstStart = 'The server creates it at its first start. If it should exist, correct SQLITE_PATH.'

const nameOf = (config: Config) => nameOfDatabase(config).replace(/^the /, 'The ')

/** A responding database is healthy unless it is read-only during a move. */
function checkMove(config: Config, message: string): Check {
  if (moveStateOf(config) !== 'moving') return passed('database', message)
  const advice = 'Wait until move-database is finished. Until then, the server rejects all changes.'
  return warning('database', `${message} It is being moved to PostgreSQL.`, advice)
}

async function answerOf(orm: MikroORM, { DB_BACKEND }: Config): Promise<{ version: string; aheadMs: number | null }> {
  const connection = orm.em.getConnection()
  const ask = (sql: string): Promise<{ version: string; ms?: string }[]> => connection.execute(sql)
  if (DB_BACKEND === 'sqlite') {
    const [row] = await ask('select sqlite_version() as version')
    return { version: `SQLite ${row?.version}`, aheadMs: null }
  }
  const before = Date.now()
  const [row] = await ask("select current_setting('server_version') as version, extract(epoch from clock_timestamp()) * 1000 as ms")
  return { version: `PostgreSQL ${row?.version}`, aheadMs: (before + Date.now()) / 2 - Number(row?.ms) }
}

async function checkMigrations(orm: MikroORM, config: Config): Promise<{ check: Check; isCurrent: boolean }> {
  const { pending, unknown, isNew, writer, isUsable } = await migrationsOf(orm, config)
  const by = writer === null ? 'a newer version' : `Snug ${writer}`
  if (unknown.length > 0 && isUsable) {
    const message = `The database was migrated by ${by}. This version is compatible with it.`
    const advice = 'Finish the upgrade: replace this version by the newer one.'
    return { check: warning('migrations', message, advice), isCurrent: true }
  }
  if (unknown.length > 0) {
    const message = `The database was migrated by ${by} and has migrations that are unknown to this version: ${unknown.join(', ')}.`
    const advice = 'Start the newer version, or restore a backup from before the upgrade.'
    return { check: failed('migrations', message, advice), isCurrent: false }
  }
  if (isNew) {
    const setting = config.DB_BACKEND === 'sqlite' ? 'SQLITE_PATH' : 'POSTGRES_URL'
    const advice = `The server creates the tables at its first start. If the database should contain packages, correct ${setting}, or restore a backup: ${adminCommand} restore <place>`
    return { check: warning('migrations', 'The database is empty.', advice), isCurrent: false }
  }
  if (pending.length > 0) {
    const message = `The database lacks ${pending.length} migrations of this version.`
    const advice = `The server runs them at startup. Make a backup first, with the previous version: ${adminCommand} backup <place>`
    return { check: warning('migrations', message, advice), isCurrent: false }
  }
  return { check: passed('migrations', 'The schema is up to date.'), isCurrent: true }
}

/** Checks the integrity of an SQLite file by reading all of it. */
async function checkFile(path: string): Promise<Check[]> {
  const advice = `Stop the server, copy the file, and restore a backup: ${adminCommand} restore <place>`
  try {
    const problems = checkSqlite(path)
    if (problems.length > 0) return [failed('integrity', `The file is damaged: ${problems.join('; ')}`, advice)]
    return [passed('integrity', 'The file passed the integrity check.')]
  } catch (error) {
    return [failed('integrity', `The file cannot be read: ${messageOf(error)}`, advice)]
  }
}

const message = z.object({ integrity_check: z.string() })
const reference = z.object({ table: z.string(), rowid: z.number().nullable(), parent: z.string() })
/** Maximum number of problems that are reported. */
const maxProblems = 10

/** Checks all pages and foreign keys of an SQLite file, also while a server runs. Returns problems. Throws if it is unreadable. */
function checkSqlite(path: string): string[] {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    const pages = z.array(message).parse(db.pragma(`integrity_check(${maxProblems})`))
    const references = z.array(reference).parse(db.pragma('foreign_key_check'))
    return [
      ...pages.flatMap(({ integrity_check: said }) => (said === 'ok' ? [] : [said.replaceAll('\n', ' ')])),
      ...references
        .slice(0, maxProblems)
        .map(({ table, rowid, parent }) => `row ${rowid} of ${table} refers to a missing row of ${parent}`),
    ]
  } finally {
    db.close()
  }
}
