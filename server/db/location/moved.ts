import type { MikroORM } from '@mikro-orm/sql'
import { existsSync } from 'node:fs'
import { ConfigError } from '../../config/config.ts'
import { adminCommand } from '../../version.ts'
import { hasTable } from '../has-table.ts'
import { nameOfDatabase } from './missing.ts'
import type { DatabaseConfig } from '../options.ts'

/** What a PostgreSQL database has until everything of an SQLite file is in it, verified. */
export const unfinishedTable = 'database_move'

/** What lies beside an SQLite file once everything in it is in PostgreSQL. */
export const noteBeside = (path: string): string => `${path}.moved`

/** What the process that moves an SQLite file holds as long as it lives. */
export const lockOfMove = (path: string): string => `${path}.moving`

/** @throws ConfigError for an SQLite file that PostgreSQL has taken the place of. */
export function refuseMoved({ DB_BACKEND, SQLITE_PATH }: DatabaseConfig): void {
  if (DB_BACKEND === 'postgres' || !existsSync(noteBeside(SQLITE_PATH))) return
  throw new ConfigError([
    `The database ${SQLITE_PATH} was moved to PostgreSQL, as ${noteBeside(SQLITE_PATH)} tells. Set DB_BACKEND=postgres and POSTGRES_URL.`,
    'To go back to the file as it was then, without all that was changed since, stop the servers on PostgreSQL and delete that note.',
  ])
}

/** @throws ConfigError for a PostgreSQL database that does not have everything of an SQLite file yet. */
export async function refuseUnfinished(orm: MikroORM, config: DatabaseConfig): Promise<void> {
  if (config.DB_BACKEND === 'sqlite') return
  if (await hasTable(orm, unfinishedTable)) throw unfinished(config)
}

/** The error for a database that only a part was moved to. */
export function unfinished(config: DatabaseConfig): ConfigError {
  return new ConfigError([
    `An SQLite database is being moved to ${nameOfDatabase(config)}, and not everything is there yet, so it cannot be used.`,
    `If that was interrupted, run it again with the settings of the SQLite file: ${adminCommand} move-database <URL>. To give it up, drop the PostgreSQL database and create it anew.`,
  ])
}
