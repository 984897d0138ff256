import { nextRun } from '../../../platform/config/cron.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import type { Services } from '../../../services.ts'
import { changeState, readSchedule } from './state.ts'

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
