import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { nextMoment } from '../../config/cron.ts'
import type { Reads } from '../../db/reads/reads.ts'
import { lockSetting, readSetting, readSettingIn, type Setting, writeSetting } from '../../settings/service.ts'

const moment = z.iso.datetime()
const stateShape = z.object({
  /** When a backup was asked for last; before the first one, since when there is a schedule. */
  askedAt: moment.nullable(),
  /** The last backup that was made: its size with all its blobs, how many of those the server itself did not have whole, and where it is. */
  lastSuccess: z
    .object({ id: z.string(), at: moment, bytes: z.number(), blobs: z.number(), lacking: z.number(), place: z.string().optional() })
    .nullable(),
  lastFailure: z.object({ at: moment, reason: z.string() }).nullable(),
})
/** What became of scheduled backups. */
export type BackupState = z.infer<typeof stateShape>

const setting: Setting<BackupState> = {
  key: 'backup.schedule',
  schema: stateShape,
  initial: { askedAt: null, lastSuccess: null, lastFailure: null },
}

/** What became of scheduled backups, wherever they were made. */
export const readState = (em: EntityManager): Promise<BackupState> => readSettingIn(em, setting)

/** The scheduled backups of a server: where, when, how many stay, and what became of them. */
export type BackupSchedule = BackupState & { place: string; expression: string; keep: number; nextAt: Date | null }

/** The scheduled backups; null when no setting asks for any. */
export async function readSchedule(
  { BACKUP_TO, BACKUP_SCHEDULE, BACKUP_KEEP }: Config,
  reads: Reads,
  now: Date,
): Promise<BackupSchedule | null> {
  if (BACKUP_TO === undefined) return null
  const state = await readSetting(reads, setting)
  const nextAt = nextMoment(BACKUP_SCHEDULE, state.askedAt === null ? now : new Date(state.askedAt))
  return { place: BACKUP_TO, expression: BACKUP_SCHEDULE, keep: BACKUP_KEEP, nextAt, ...state }
}

/** Changes what is known in a transaction, which gives something more; others who do so wait. */
export async function changeState<Result>(
  em: EntityManager,
  change: (state: BackupState, em: EntityManager) => Promise<[Partial<BackupState>, Result]>,
): Promise<Result> {
  return em.transactional(async (inner) => {
    const state = await lockSetting(inner, setting)
    const [changes, result] = await change(state, inner)
    await writeSetting(inner, setting, { ...state, ...changes })
    return result
  })
}
