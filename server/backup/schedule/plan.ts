import { nextMoment } from '../../config/cron.ts'
import { enqueue } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { changeState, readSchedule } from './state.ts'

/** The kind and subject of the jobs that back up: one at a time. */
export const backupKind = 'backup'
const everything = 'everything'

/**
 * Asks for a backup once it is due, and once for all that were missed while no server was running. Any number of instances may: one of them
 * asks, and one of them makes it. Gives whether it was due.
 */
export async function scheduleBackups({ config, database, now }: Pick<Services, 'config' | 'database' | 'now'>): Promise<boolean> {
  const at = now()
  const schedule = await readSchedule(config, database.reads, at)
  if (!schedule || (schedule.askedAt !== null && (schedule.nextAt === null || schedule.nextAt > at))) return false
  return changeState(database.fork(), async ({ askedAt }, em) => {
    // A schedule begins when it is first seen.
    if (askedAt === null) return [{ askedAt: at.toISOString() }, false]
    const due = nextMoment(config.BACKUP_SCHEDULE, new Date(askedAt))
    if (!due || due > at) return [{}, false]
    await enqueue(em, { kind: backupKind, subject: everything }, at)
    return [{ askedAt: at.toISOString() }, true]
  })
}
