import { z } from 'zod'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { lockSetting, readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { AuditEntry } from './entity.ts'
import { audit, recordEvents } from './service.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { changeRows, insertRows } from '../../platform/db/statements.ts'
import { db } from '../../platform/db/query.ts'
import type { Services } from '../../services.ts'
import { type Place, auditAnchor, lastCut, type Link, problemsOf, readLinks } from './chain.ts'

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
const keptFrom = (now: Date, days: number): Date => new Date(Math.floor((now.getTime() - days * dayMs - toleranceMs) / dayMs) * dayMs)

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

/** Number of audit entries deleted per transaction. */
const atOnce = 2000

/**
 * Deletes entries that are older than the retention that the owner has set, from the beginning of the hash chain. Each transaction deletes a
 * batch, stores the chain position that the remaining entries build on, and records an audit entry, so it can be interrupted at any time. Entries
 * that were tampered with are not deleted, so that `verify-audit` keeps reporting them.
 * @throws Error when the beginning of the log does not match the hash chain.
 */
export async function deleteOldEntries({ database, log, now, stopping }: Pick<Services, 'database' | 'log' | 'now' | 'stopping'>) {
  if ((await readSetting(database.reads, auditRetention)).days === null) return
  while (!stopping.signal.aborted) {
    const cut = await database.fork().transactional((em) => deleteSome(em, now()))
    if (!cut) return
    log.info(`audit log: deleted ${cut.entries} entries up to position ${cut.position}, hash ${cut.hash}`)
  }
}

async function deleteSome(em: EntityManager, now: Date): Promise<(Place & { entries: number }) | null> {
  // Blocks other instances and changes of the setting until the transaction ends.
  const { days } = await lockSetting(em, auditRetention)
  if (days === null) return null
  const before = keptFrom(now, days)
  const anchor = auditAnchor(await lastCut(em))
  const end = endOfOld(anchor, await readLinks(em, anchor.position, atOnce + 1), before)
  if (end.position === anchor.position) return null
  const entries = end.position - anchor.position
  const summary = `Deleted the audit entries from before ${before.toISOString().slice(0, 10)} (kept for ${days} days): ${entries}, up to position ${end.position} with the hash ${end.hash}`
  const [entryId = ''] = await recordEvents(em, [{ kind: 'server.audit_entries_deleted', actor: null, summary }])
  await insertRows(em, 'audit_cuts', [{ entry_id: entryId, ...end, kept_from: before }])
  const links = db.selectFrom('audit_chain').where('position', '<=', end.position)
  const deleted = [
    await changeRows(em, db.deleteFrom('audit_entries').where('id', 'in', links.select('entry_id'))),
    await changeRows(em, db.deleteFrom('audit_chain').where('position', '<=', end.position)),
  ]
  if (deleted.some((count) => count !== entries)) throw notAsWritten([`Deleted: ${deleted.join(' entries and ')} links.`])
  return { ...end, entries }
}

/** Returns the position of the last link older than `before`. The newest link is never included, so that the chain is never empty. */
function endOfOld(anchor: Place, links: readonly Link[], before: Date): Place {
  let place = anchor
  for (const link of links.slice(0, -1)) {
    const problems = problemsOf(place, link)
    if (link.id === null || problems.length > 0) throw notAsWritten(problems)
    if (link.created_at >= before) break
    place = { position: link.position, hash: link.hash }
  }
  return place
}

const notAsWritten = (problems: readonly string[]) =>
  new Error(`The audit log does not match its hash chain, so no entries are deleted. Run verify-audit for details. ${problems.join(' ')}`)
