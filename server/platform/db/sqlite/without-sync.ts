import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<{ isRunning: boolean }>()

/**
 * Runs `work` without syncing its commits to disk. For work that takes minutes and is repeated if it is lost. The mode ends with `work`, also for
 * background work that it started. On SQLite, such a commit survives a process crash at once and a power failure only after the next synced commit.
 * PostgreSQL always syncs.
 */
export async function withoutSync<Value>(work: () => Promise<Value>): Promise<Value> {
  const piece = { isRunning: true }
  try {
    return await storage.run(piece, work)
  } finally {
    piece.isRunning = false
  }
}

/** Returns whether commits of the current work may skip the disk sync. */
export const skipsSync = (): boolean => storage.getStore()?.isRunning ?? false
