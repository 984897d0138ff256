import { existsSync } from 'node:fs'
import { isLocked } from './lock.ts'
import { lockOfMove, noteBeside } from './moved.ts'
import { WritesRefused } from './unavailable.ts'

/** Whether an SQLite file is being moved to PostgreSQL, or was. */
export type MoveState = 'moving' | 'moved' | null

/** What a move of the file, running or complete, leaves to see for every process. */
export function moveStateOf(path: string): MoveState {
  if (existsSync(noteBeside(path))) return 'moved'
  return isLocked(lockOfMove(path)) ? 'moving' : null
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
export function guardWrites(path: string): WriteGuard {
  let movingUntil = 0
  const whenMine = () => {
    if (existsSync(noteBeside(path))) throw new WritesRefused('moved')
  }
  return {
    begin() {
      if (performance.now() >= movingUntil) return
      whenMine()
      throw new WritesRefused('moving')
    },
    whenLocked() {
      const state = moveStateOf(path)
      if (state === 'moving') movingUntil = performance.now() + knownMs
      if (state) throw new WritesRefused(state)
    },
    whenMine,
  }
}
