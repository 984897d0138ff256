import type { EntityManager } from '@mikro-orm/sql'
import { changeRows, insertRows } from '../../platform/db/statements.ts'
import { toDate } from '../../platform/db/reads.ts'
import type { Services } from '../../services.ts'
import { lockSetting, readSetting } from '../../platform/settings/service.ts'
import type { Place } from './chain.ts'
import { anchorOf, lastCut } from './cuts.ts'
import { type Link, problemsOf, readLinks } from './links.ts'
import { auditRetention, keptFrom } from './retention.ts'
import { recordEvents } from './service.ts'

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
  const anchor = anchorOf(await lastCut(em))
  const end = endOfOld(anchor, await readLinks(em, anchor.position, atOnce + 1), before)
  if (end.position === anchor.position) return null
  const entries = end.position - anchor.position
  const summary = `Deleted the audit entries from before ${before.toISOString().slice(0, 10)} (kept for ${days} days): ${entries}, up to position ${end.position} with the hash ${end.hash}`
  const [entryId = ''] = await recordEvents(em, [{ kind: 'server.audit_entries_deleted', actor: null, summary }])
  await insertRows(em, 'audit_cuts', [{ entry_id: entryId, ...end, kept_from: before }])
  const deleted = [
    await changeRows(em, 'delete from audit_entries where id in (select entry_id from audit_chain where position <= ?)', [end.position]),
    await changeRows(em, 'delete from audit_chain where position <= ?', [end.position]),
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
    if (toDate(link.created_at) >= before) break
    place = { position: Number(link.position), hash: link.hash }
  }
  return place
}

const notAsWritten = (problems: readonly string[]) =>
  new Error(`The audit log does not match its hash chain, so no entries are deleted. Run verify-audit for details. ${problems.join(' ')}`)
