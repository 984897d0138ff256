import { existsSync } from 'node:fs'
import { isLocked } from './lock.ts'
import { lockOfMove, noteBeside } from './moved.ts'
import type { DatabaseConfig } from '../options.ts'
import { WritesRefused } from '../unavailable.ts'

type Where = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH'>

/** Whether an SQLite file is being moved to PostgreSQL, or was; null on PostgreSQL. */
export type MoveState = 'moving' | 'moved' | null

/** What a move of the file, running or complete, leaves to see for every process. */
export function moveStateOf({ DB_BACKEND, SQLITE_PATH }: Where): MoveState {
  if (DB_BACKEND === 'postgres') return null
  if (existsSync(noteBeside(SQLITE_PATH))) return 'moved'
  return isLocked(lockOfMove(SQLITE_PATH)) ? 'moving' : null
}

/** Keeps writes off an SQLite file that is being moved, or was: nothing that the move did not copy may be acknowledged. */
export type WriteGuard = {
  /** Asked first. @throws WritesRefused while a move was seen a moment ago. */
  begin: () => void
  /** Asked when the file is locked. @throws WritesRefused when that is because of a move. */
  whenLocked: () => void
  /**
   * Asked by whoever has the file's lock, which a move lets go of only after its note lies there. @throws WritesRefused when the file was moved.
   */
  whenMine: () => void
}

/** For so long after a refusal nothing looks at the lock again: to wait for it holds everybody up. */
const knownMs = 200

/** Guards the writes of this process to an SQLite file. */
export function guardWrites(config: Where): WriteGuard {
  let movingUntil = 0
  const whenMine = () => {
    if (existsSync(noteBeside(config.SQLITE_PATH))) throw new WritesRefused('moved')
  }
  return {
    begin() {
      if (performance.now() >= movingUntil) return
      whenMine()
      throw new WritesRefused('moving')
    },
    whenLocked() {
      const state = moveStateOf(config)
      if (state === 'moving') movingUntil = performance.now() + knownMs
      if (state) throw new WritesRefused(state)
    },
    whenMine,
  }
}
