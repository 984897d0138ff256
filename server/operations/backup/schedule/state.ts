import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { nextRun } from '../../../platform/config/forms.ts'
import type { Reads } from '../../../platform/db/reads.ts'
import { lockSetting, readSetting, readSettingIn, type Setting, writeSetting } from '../../../platform/settings/service.ts'

const moment = z.iso.datetime()
const stateShape = z.object({
  /** When a backup was last enqueued. Before the first backup: when the schedule was first seen. */
  askedAt: moment.nullable(),
  /** The last complete backup: its size including all blobs, how many blobs were missing or corrupt on the server itself, and its location. */
  lastSuccess: z
    .object({ id: z.string(), at: moment, bytes: z.number(), blobs: z.number(), lacking: z.number(), place: z.string().optional() })
    .nullable(),
  lastFailure: z.object({ at: moment, reason: z.string() }).nullable(),
})
/** State of scheduled backups: when one was last enqueued, and the last outcomes. */
export type BackupState = z.infer<typeof stateShape>

const setting: Setting<BackupState> = {
  key: 'backup.schedule',
  schema: stateShape,
  initial: { askedAt: null, lastSuccess: null, lastFailure: null },
}

/** Reads the state of scheduled backups, which all instances share. */
export const readState = (em: EntityManager): Promise<BackupState> => readSettingIn(em, setting)

/** Schedule and state of backups: location, cron expression, retention, next run and last outcome. */
export type BackupSchedule = BackupState & { place: string; expression: string; keep: number; nextAt: Date | null }

/** Returns the backup schedule; null when BACKUP_TO is not set. */
export async function readSchedule(
  { BACKUP_TO, BACKUP_SCHEDULE, BACKUP_KEEP }: Config,
  reads: Reads,
  now: Date,
): Promise<BackupSchedule | null> {
  if (BACKUP_TO === undefined) return null
  const state = await readSetting(reads, setting)
  const nextAt = nextRun(BACKUP_SCHEDULE, state.askedAt === null ? now : new Date(state.askedAt))
  return { place: BACKUP_TO, expression: BACKUP_SCHEDULE, keep: BACKUP_KEEP, nextAt, ...state }
}

/** Updates the state in a transaction that locks it against concurrent updates. Returns the second value that `change` returns. */
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
