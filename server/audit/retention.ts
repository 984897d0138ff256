import { z } from 'zod'
import type { Context, SignedInContext } from '../access/context.ts'
import { requireRecentProof } from '../access/proof.ts'
import { lockSetting, readSetting, type Setting, writeSetting } from '../settings/service.ts'
import { AuditEntry } from './entity.ts'
import { audit } from './service.ts'

/** For so many days, audit entries are kept whatever the owner sets: the database refuses to delete younger ones. */
export const minRetentionDays = 90
export const maxRetentionDays = 36_500

/** How long audit entries are kept, in days; null for ever. */
export type AuditRetention = { days: number | null }

export const auditRetention: Setting<AuditRetention> = {
  key: 'audit.retention',
  schema: z.object({ days: z.int().min(minRetentionDays).max(maxRetentionDays).nullable() }),
  initial: { days: null },
}

const dayMs = 86_400_000
/** The database, which refuses what is too young by its own clock, may be behind by so much. */
const toleranceMs = 3_600_000

/** The moment from which entries are kept: the beginning of a day (UTC), so that once a day something is deleted, and recorded, and not all the time. */
export const keptFrom = (now: Date, days: number): Date =>
  new Date(Math.floor((now.getTime() - days * dayMs - toleranceMs) / dayMs) * dayMs)

export const readRetention = ({ database }: Pick<Context, 'database'>): Promise<AuditRetention> =>
  readSetting(database.reads, auditRetention)

/** How many entries would be deleted, if they were kept for so many days. */
export const countOlder = ({ em, now }: Pick<Context, 'em' | 'now'>, days: number): Promise<number> =>
  em.count(AuditEntry, { createdAt: { $lt: keptFrom(now(), days) } })

/**
 * Sets how long audit entries are kept; what is older goes within minutes. The same again changes nothing.
 * @throws ApiError InsufficientPermissions for a session that did not prove its password lately.
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
