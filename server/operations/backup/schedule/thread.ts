import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../../../platform/config/config.ts'
import { openUnlocked } from '../../../platform/db/open/orm.ts'
import { sharedClock } from '../../../platform/db/open/servers.ts'
import { conflict } from '../../../errors.ts'
import { type FailureDescription, describeFailure } from '../../../platform/jobs/failure.ts'
import { openStores } from '../../../platform/store/open.ts'
import { lowerPriority } from '../../../platform/threads/worker.ts'
import { createBackup, type CompletedBackup } from '../create.ts'
import { openPlace } from '../place/open.ts'
import type { Report } from '../place/place.ts'
import { type DeletedBackups, deleteOldBackups } from '../delete-old.ts'
import { lostPlace } from '../owner.ts'

/** The new backup, the deleted old backups, and the error if deleting them failed. Old backups are deleted only once the new one is complete. */
export type Outcome = { made: CompletedBackup; deleted: DeletedBackups | null; problem: string | null }
/** A message from the backup thread to the main thread: progress, result or failure. */
export type ThreadMessage = { done: number } | { outcome: Outcome } | { failure: FailureDescription }

// Backups run in a separate thread, since hashing the copies would block requests.
const { config, place } = workerData as { config: Config; place: string }
const stop = new AbortController()
lowerPriority()
parentPort?.once('message', () => stop.abort(new Error('The backup was canceled.')))
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
const send = (message: ThreadMessage) => parentPort?.postMessage(message)
await backUp()
  .then((outcome) => send({ outcome }))
  .catch((error: unknown) => send({ failure: describeFailure(error) }))
parentPort?.close()

async function backUp(): Promise<Outcome> {
  const orm = await openUnlocked(config)
  try {
    const em = orm.em.fork()
    const lost = await lostPlace(em, await openPlace(config, place), place)
    if (lost !== null) throw conflict(lost)
    const source = { em, config, stores: await openStores(config), now: await sharedClock(em, config) }
    const made = await createBackup(source, place, { signal: stop.signal, report: everySecond((done) => send({ done })) })
    try {
      const deleted = await deleteOldBackups(source, place, { made: made.manifest.id, keep: config.BACKUP_KEEP })
      return { made, deleted, problem: null }
    } catch (error) {
      return { made, deleted: null, problem: error instanceof Error ? error.message : String(error) }
    }
  } finally {
    await orm.close(true)
  }
}

/** Returns a callback that passes on the number of copied files, at most once a second. */
function everySecond(say: (done: number) => void): Report {
  let saidAt = Number.NEGATIVE_INFINITY
  return (_step, { done }) => {
    if (performance.now() - saidAt < 1000) return
    saidAt = performance.now()
    say(done)
  }
}
