import type { MikroORM } from '@mikro-orm/sql'
import { existsSync } from 'node:fs'
import { ConfigError } from '../../config/config.ts'
import { adminCommand } from '../../config/version.ts'
import { hasTable } from '../statements.ts'
import { nameOfDatabase } from './missing.ts'
import type { DatabaseConfig } from '../options.ts'
import { isLocked } from './files.ts'
import { WritesRejected } from '../unavailable.ts'

/** The table that a PostgreSQL database has until the move from SQLite is complete and verified. */
export const unfinishedTable = 'database_move'

/** Returns the path of the marker file that is written when a move to PostgreSQL is complete. */
export const moveMarkerPath = (path: string): string => `${path}.moved`

/** Returns the path of the lock file that the `move-database` command holds while it runs. */
export const moveLockPath = (path: string): string => `${path}.moving`

/** @throws ConfigError if the SQLite file was moved to PostgreSQL. */
export function rejectMoved({ DB_BACKEND, SQLITE_PATH }: DatabaseConfig): void {
  if (DB_BACKEND === 'postgres' || !existsSync(moveMarkerPath(SQLITE_PATH))) return
  throw new ConfigError([
    `The database ${SQLITE_PATH} was moved to PostgreSQL (see ${moveMarkerPath(SQLITE_PATH)}). Set DB_BACKEND=postgres and POSTGRES_URL.`,
    'To return to the state of the file before the move, without later changes, stop the servers that use PostgreSQL and delete the .moved file.',
  ])
}

/** @throws ConfigError if a move to this PostgreSQL database is incomplete. */
export async function rejectUnfinished(orm: MikroORM, config: DatabaseConfig): Promise<void> {
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

type Where = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH'>

/** Whether an SQLite file is being moved to PostgreSQL or was moved. Always null on PostgreSQL. */
export type MoveState = 'moving' | 'moved' | null

/** Returns the state of a move, as every process can see it from the marker and lock files. */
export function moveStateOf({ DB_BACKEND, SQLITE_PATH }: Where): MoveState {
  if (DB_BACKEND === 'postgres') return null
  if (existsSync(moveMarkerPath(SQLITE_PATH))) return 'moved'
  return isLocked(moveLockPath(SQLITE_PATH)) ? 'moving' : null
}

/** Rejects writes to an SQLite file that is being moved or was moved, so that no write is acknowledged that the move did not copy. */
export type WriteGuard = {
  /** Call before a write. @throws WritesRejected if a move was detected less than 200 ms ago. */
  beforeWrite: () => void
  /** Call when the file is locked. @throws WritesRejected if a move holds the lock. */
  onLocked: () => void
  /** Call while holding the lock of the file. A move writes its marker before it releases the lock. @throws WritesRejected if the file was moved. */
  onLockAcquired: () => void
}

/** Milliseconds after a rejected write during which the lock is not checked again, because waiting for it blocks the event loop. */
const recheckMs = 200

/** Returns a guard for this process's writes to an SQLite file. */
export function guardWrites(config: Where): WriteGuard {
  let movingUntil = 0
  const onLockAcquired = () => {
    if (existsSync(moveMarkerPath(config.SQLITE_PATH))) throw new WritesRejected('moved')
  }
  return {
    beforeWrite() {
      if (performance.now() >= movingUntil) return
      onLockAcquired()
      throw new WritesRejected('moving')
    },
    onLocked() {
      const state = moveStateOf(config)
      if (state === 'moving') movingUntil = performance.now() + recheckMs
      if (state) throw new WritesRejected(state)
    },
    onLockAcquired,
  }
}
