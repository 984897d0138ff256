import type { EntityManager } from '@mikro-orm/sql'
import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { idAt, auditAnchor, type Cut, isUnsealed, lastCut, problemsOf, readLinks } from './chain.ts'

/** Result of verifying the audit log against its hash chain. */
type Verdict = {
  /** Number of entries in the chain. */
  entries: number
  /** Number of older entries that were deleted by retention. */
  deleted: number
  /** Hash of the last entry in the chain; null for an empty chain. */
  head: string | null
  /** Number of entries that are not yet in the chain. The server adds them within a minute. */
  unsealed: number
  /** Problems found in the audit log, one per line. */
  problems: string[]
}

/** Number of links of the hash chain read per batch. */
const atOnce = 1000
/** Entries are sealed within a minute. An unsealed entry older than this was inserted by something other than the server. */
const sealedAfterMs = 3_600_000

/**
 * Verifies every audit entry against the hash chain. `known` is an earlier hash of the chain, from the server log or a previous verification.
 * Without one, rewriting all entries and all hashes is not detected. Entries deleted by retention are represented by the last cut, which a
 * remaining entry must confirm.
 */
export async function verifyChain(em: EntityManager, now: Date, known?: string): Promise<Verdict> {
  const problems: string[] = []
  let cut = await lastCut(em)
  let [place, hasKnown] = [auditAnchor(cut), known === undefined || known === cut?.hash]
  for (;;) {
    const links = await readLinks(em, place.position, atOnce)
    const moved = await lastCut(em)
    if (moved && moved.position > place.position) {
      // Entries were deleted during the verification, possibly before they were read. Continue after the new cut.
      ;[cut, place, hasKnown] = [moved, auditAnchor(moved), hasKnown || known === moved.hash]
      continue
    }
    for (const link of links) {
      problems.push(...problemsOf(place, link))
      place = { position: link.position, hash: link.hash }
      hasKnown ||= link.hash === known
    }
    if (links.length < atOnce) break
  }
  problems.push(...(await problemsOfCut(em, cut)))
  const { old, unsealed } = await countUnsealed(em, now)
  if (old > 0)
    problems.push(
      `Entries older than an hour that are not in the chain: ${old}. They were added by something else, or the server was not running.`,
    )
  if (!hasKnown) problems.push(`The hash ${known} is not in the chain. ${whyUnknown(cut)}`)
  const { position: deleted } = auditAnchor(cut)
  return { entries: place.position - deleted, deleted, head: place.position === 0 ? null : place.hash, unsealed, problems }
}

const whyUnknown = (cut: Cut | null) =>
  `The chain was rebuilt, its end was removed, ${cut ? 'an older backup was restored, or the hash is of an entry that was deleted by retention' : 'or an older backup was restored'}.`

/** Checks a cut. After an unauthorized deletion of the oldest entries, the audit entry about it is missing, or links remain. */
async function problemsOfCut(em: EntityManager, cut: Cut | null): Promise<string[]> {
  if (!cut) return []
  const entry = await readRow(em, db.selectFrom('audit_entries').select('summary').where('id', '=', cut.entryId))
  const { position, hash } = cut
  const left = await readRow(
    em,
    db
      .selectFrom('audit_chain')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('position', '<=', position),
  )
  const problems = []
  if (!entry?.summary.includes(hash)) problems.push(`The audit entry about the deletion of entries up to position ${position} is missing.`)
  if (left && left.total > 0) problems.push(`Links up to position ${position} exist, although they were deleted.`)
  return problems
}

async function countUnsealed(em: EntityManager, now: Date): Promise<{ old: number; unsealed: number }> {
  const before = idAt(now.getTime() - sealedAfterMs)
  const row = await readRow(
    em,
    db
      .selectFrom('audit_entries as e')
      .select(({ fn }) => [fn.countAll<number>().filterWhere('e.id', '<', before).as('old'), fn.countAll<number>().as('total')])
      .where(isUnsealed),
  )
  const { old, total } = row ?? { old: 0, total: 0 }
  return { old, unsealed: total - old }
}
