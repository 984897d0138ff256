import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<{ isUnderWay: boolean }>()

/**
 * Has the transactions, and the statements outside of one, of the work not wait until they are on the disk: for what lasts minutes, and is begun
 * anew when it is lost. That ends with the work, also for what the work began and that goes on. On SQLite such a commit survives the death of the
 * process, and a power cut from the next forced commit on; PostgreSQL forces all of them.
 */
export async function unforced<Value>(work: () => Promise<Value>): Promise<Value> {
  const piece = { isUnderWay: true }
  try {
    return await storage.run(piece, work)
  } finally {
    piece.isUnderWay = false
  }
}

/** Whether a transaction that begins now, or a statement outside of one, may do without. */
export const isUnforced = (): boolean => storage.getStore()?.isUnderWay ?? false
