import { z } from 'zod'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { lockSetting, readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { AuditEntry } from './entity.ts'
import { audit } from './service.ts'

/** Minimum retention in days. The database refuses to delete younger entries, whatever the owner sets. */
export const minRetentionDays = 90
export const maxRetentionDays = 36_500

/** How long audit entries are kept, in days; null for forever. */
export type AuditRetention = { days: number | null }

export const auditRetention: Setting<AuditRetention> = {
  key: 'audit.retention',
  schema: z.object({ days: z.int().min(minRetentionDays).max(maxRetentionDays).nullable() }),
  initial: { days: null },
}

const dayMs = 86_400_000
/** Tolerance for a database clock that is behind. The database checks the age of entries by its own clock. */
const toleranceMs = 3_600_000

/** Returns the time from which entries are kept. Rounded to the start of a day (UTC), so that entries are deleted at most once a day. */
export const keptFrom = (now: Date, days: number): Date =>
  new Date(Math.floor((now.getTime() - days * dayMs - toleranceMs) / dayMs) * dayMs)

export const readRetention = ({ database }: Pick<Context, 'database'>): Promise<AuditRetention> =>
  readSetting(database.reads, auditRetention)

/** Counts the entries that a retention of this many days would delete. */
export const countOlder = ({ em, now }: Pick<Context, 'em' | 'now'>, days: number): Promise<number> =>
  em.count(AuditEntry, { createdAt: { $lt: keptFrom(now(), days) } })

/**
 * Sets the retention of audit entries. Older entries are deleted within minutes. Setting the current value again has no effect.
 * @throws ApiError InsufficientPermissions for a session without a recent password confirmation.
 */
export async function updateRetention(context: SignedInContext, wanted: AuditRetention): Promise<AuditRetention> {
  const { em, viewer, ip } = context
  requireRecentProof(context)
  await em.fork().transactional(async (inner) => {
    const before = await lockSetting(inner, auditRetention)
    if (before.days === wanted.days) return
    const summary = `${viewer.displayName} changed how long audit entries are kept: from ${inWords(before)} to ${inWords(wanted)}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, ip })
    await writeSetting(inner, auditRetention, wanted)
  })
  return wanted
}

const inWords = ({ days }: AuditRetention) => (days === null ? 'forever' : `${days} days`)
