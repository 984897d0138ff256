import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { conflict } from '../../../errors.ts'
import type { Log } from '../../../platform/http/log.ts'
import type { FailureDescription } from '../../../platform/jobs/failure.ts'
import { type Handler, handler, type Work } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import type { CompletedBackup } from '../create.ts'
import { changeState, readSchedule } from './state.ts'
import type { Outcome, ThreadMessage } from './thread.ts'
import { nextRun } from '../../../platform/config/forms.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'

/** Handles a backup job: creates a backup, deletes old ones, and records the outcome. */
export function backupJob({ config, database, log, now }: Services, place: string): Handler {
  const note = (changes: Parameters<typeof changeState>[1]) => changeState(database.fork(), changes)
  const failed = (reason: string) => note(async () => [{ lastFailure: { at: now().toISOString(), reason } }, null])
  const backUp = async (work: Work) => {
    const { made, deleted, problem } = await inThread(config, place, work)
    const { id, finishedAt, files, blobs } = made.manifest
    const bytes = files.reduce((sum, file) => sum + file.bytes, blobs.bytes)
    logBackup(log, made, `${bytes} bytes in all, in ${place}`)
    const lastSuccess = { id, at: finishedAt, bytes, blobs: blobs.count, lacking: blobs.lacking.length, place }
    await note(async () => [{ lastSuccess }, null])
    for (const one of deleted?.backups ?? []) log.info(`Deleted the old backup ${one} in ${place}.`)
    if (problem === null) return
    log.error(`The old backups in ${place} could not be deleted: ${problem}`)
    await failed(`Backup ${id} is complete, but the old ones could not be deleted: ${problem}`)
  }
  return handler(z.object({}), backUp, {
    maxConcurrent: 1,
    hasOwnSlots: true,
    onPermanentFailure: async (_subject, error) => void (await failed(error)),
  })
}

/** Logs a completed backup; as a warning if archives or documentation are missing from it. */
function logBackup(log: Log, { manifest: { id, blobs }, copied }: CompletedBackup, size: string): void {
  const { count, lacking } = blobs
  const counts = `${count} blobs, ${copied} of them copied now, ${size}`
  if (lacking.length === 0) return log.info(`Backup ${id} is complete: ${counts}.`)
  const missing = lacking.filter(({ problem }) => problem === 'missing').length
  const parts = `${missing} missing, ${lacking.length - missing} damaged`
  log.warning(
    `Backup ${id} lacks ${lacking.length} archives or documentations that are missing or damaged on the server itself (${parts}): ${counts}. ` +
      `To find the versions of archives: ${adminCommand} check-integrity`,
  )
}

/** Converts a failure in the thread to an error of the job. Users see only the first line; the stack is that of the thread. */
function failureOf({ isKnown, text }: FailureDescription): Error {
  if (isKnown) return conflict(text)
  const [message = ''] = text.replace(/^Error: /, '').split('\n')
  return Object.assign(new Error(message), { stack: text })
}

function inThread(config: Config, place: string, { signal, progress }: Work): Promise<Outcome> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: { config, place } })
  // On this message the thread removes the unfinished backup and exits.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  const stop = () => worker.postMessage('stop')
  signal.addEventListener('abort', stop)
  worker.on('message', (message: ThreadMessage) => {
    if ('outcome' in message) resolve(message.outcome)
    else if ('failure' in message) reject(failureOf(message.failure))
    else progress({ done: message.done })
  })
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('The backup thread exited without a result.')))
  return promise.finally(() => signal.removeEventListener('abort', stop))
}

/** Kind and subject of backup jobs. Sharing one subject prevents concurrent backups. */
export const backupKind = 'backup'
const everything = 'everything'

/**
 * Enqueues a backup when one is due. Backups missed while no server was running are made up by a single one. Safe to call on any number of
 * instances: only one of them enqueues the job. Returns whether a backup was due.
 */
export async function scheduleBackups({ config, database, now }: Pick<Services, 'config' | 'database' | 'now'>): Promise<boolean> {
  const at = now()
  const schedule = await readSchedule(config, database.reads, at)
  if (!schedule || (schedule.askedAt !== null && (schedule.nextAt === null || schedule.nextAt > at))) return false
  return changeState(database.fork(), async ({ askedAt }, em) => {
    // The schedule starts when it is first seen, so that a new server does not back up immediately.
    if (askedAt === null) return [{ askedAt: at.toISOString() }, false]
    const due = nextRun(config.BACKUP_SCHEDULE, new Date(askedAt))
    if (!due || due > at) return [{}, false]
    await enqueue(em, { kind: backupKind, subject: everything }, at)
    return [{ askedAt: at.toISOString() }, true]
  })
}
