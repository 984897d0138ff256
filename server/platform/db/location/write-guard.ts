import { existsSync } from 'node:fs'
import { isLocked } from './lock.ts'
import { moveLockPath, moveMarkerPath } from './moved.ts'
import type { DatabaseConfig } from '../options.ts'
import { WritesRefused } from '../unavailable.ts'

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
  /** Call before a write. @throws WritesRefused if a move was detected less than 200 ms ago. */
  beforeWrite: () => void
  /** Call when the file is locked. @throws WritesRefused if a move holds the lock. */
  onLocked: () => void
  /** Call while holding the lock of the file. A move writes its marker before it releases the lock. @throws WritesRefused if the file was moved. */
  onLockAcquired: () => void
}

/** Milliseconds after a rejected write during which the lock is not checked again, because waiting for it blocks the event loop. */
const recheckMs = 200

/** Returns a guard for this process's writes to an SQLite file. */
export function guardWrites(config: Where): WriteGuard {
  let movingUntil = 0
  const onLockAcquired = () => {
    if (existsSync(moveMarkerPath(config.SQLITE_PATH))) throw new WritesRefused('moved')
  }
  return {
    beforeWrite() {
      if (performance.now() >= movingUntil) return
      onLockAcquired()
      throw new WritesRefused('moving')
    },
    onLocked() {
      const state = moveStateOf(config)
      if (state === 'moving') movingUntil = performance.now() + recheckMs
      if (state) throw new WritesRefused(state)
    },
    onLockAcquired,
  }
}
