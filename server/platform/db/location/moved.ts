import type { MikroORM } from '@mikro-orm/sql'
import { existsSync } from 'node:fs'
import { ConfigError } from '../../config/config.ts'
import { adminCommand } from '../../config/version.ts'
import { hasTable } from '../has-table.ts'
import { nameOfDatabase } from './missing.ts'
import type { DatabaseConfig } from '../options.ts'

/** The table that a PostgreSQL database has until the move from SQLite is complete and verified. */
export const unfinishedTable = 'database_move'

/** Returns the path of the marker file that is written when a move to PostgreSQL is complete. */
export const moveMarkerPath = (path: string): string => `${path}.moved`

/** Returns the path of the lock file that the `move-database` command holds while it runs. */
export const moveLockPath = (path: string): string => `${path}.moving`

/** @throws ConfigError if the SQLite file was moved to PostgreSQL. */
export function refuseMoved({ DB_BACKEND, SQLITE_PATH }: DatabaseConfig): void {
  if (DB_BACKEND === 'postgres' || !existsSync(moveMarkerPath(SQLITE_PATH))) return
  throw new ConfigError([
    `The database ${SQLITE_PATH} was moved to PostgreSQL (see ${moveMarkerPath(SQLITE_PATH)}). Set DB_BACKEND=postgres and POSTGRES_URL.`,
    'To return to the state of the file before the move, without later changes, stop the servers that use PostgreSQL and delete the .moved file.',
  ])
}

/** @throws ConfigError if a move to this PostgreSQL database is incomplete. */
export async function refuseUnfinished(orm: MikroORM, config: DatabaseConfig): Promise<void> {
  if (config.DB_BACKEND === 'sqlite') return
  if (await hasTable(orm, unfinishedTable)) throw unfinished(config)
}

/** Returns the error for a database to which a move is incomplete. */
export function unfinished(config: DatabaseConfig): ConfigError {
  return new ConfigError([
    `An SQLite database is being moved to ${nameOfDatabase(config)}, and not everything is there yet, so it cannot be used.`,
    `If the move was interrupted, run it again with the settings of the SQLite file: ${adminCommand} move-database <URL>. To abandon the move, drop the PostgreSQL database and create it again.`,
  ])
}
