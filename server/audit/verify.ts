import type { EntityManager } from '@mikro-orm/sql'
import { readRow } from '../db/statements.ts'
import { idAt } from './chain.ts'
import { anchorOf, type Cut, lastCut } from './cuts.ts'
import { problemsOf, readLinks } from './links.ts'

/** What a look at the whole chain found. */
export type Verdict = {
  /** How many entries are in the chain. */
  entries: number
  /** How many were before them, and were deleted because of their age. */
  deleted: number
  /** The hash of the last entry in the chain; null when there is none. */
  head: string | null
  /** Entries that are not in the chain yet: the server adds them within a minute. */
  unsealed: number
  /** What is wrong, a line each. */
  problems: string[]
}

/** So many links are read at once. */
const atOnce = 1000
/** An entry of this age that is not in the chain was added behind the server's back. */
const sealedAfterMs = 3_600_000

/**
 * Compares every audit entry with the hash chain. `known` is a hash that the chain had before, as the log or an earlier verification told: without
 * one, whoever rewrote all entries and all hashes goes unnoticed. What was deleted because of its age is taken over from the last cut, which an
 * entry that is left has to name.
 */
export async function verifyChain(em: EntityManager, now: Date, known?: string): Promise<Verdict> {
  const problems: string[] = []
  let cut = await lastCut(em)
  let [place, hasKnown] = [anchorOf(cut), known === undefined || known === cut?.hash]
  for (;;) {
    const links = await readLinks(em, place.position, atOnce)
    const moved = await lastCut(em)
    if (moved && moved.position > place.position) {
      // Entries were deleted meanwhile, maybe before these were read.
      ;[cut, place, hasKnown] = [moved, anchorOf(moved), hasKnown || known === moved.hash]
      continue
    }
    for (const link of links) {
      problems.push(...problemsOf(place, link))
      place = { position: Number(link.position), hash: link.hash }
      hasKnown ||= link.hash === known
    }
    if (links.length < atOnce) break
  }
  problems.push(...(await problemsOfCut(em, cut)))
  const { old, unsealed } = await countUnsealed(em, now)
  if (old > 0) problems.push(`Entries older than an hour that are not in the chain: ${old}. They were added, or the server did not run.`)
  if (!hasKnown) problems.push(`The hash ${known} is not in the chain. ${whyUnknown(cut)}`)
  const { position: deleted } = anchorOf(cut)
  return { entries: place.position - deleted, deleted, head: place.position === 0 ? null : place.hash, unsealed, problems }
}

const whyUnknown = (cut: Cut | null) =>
  `The chain was made anew, its end was removed, ${cut ? 'an older backup was restored, or it is of an entry that was deleted because of its age' : 'or an older backup was restored'}.`

/** Whoever cuts off the beginning of the log behind the server's back lacks the entry about it, or has entries or links left over. */
async function problemsOfCut(em: EntityManager, cut: Cut | null): Promise<string[]> {
  if (!cut) return []
  const entry = await readRow<{ summary: string }>(em, 'select summary from audit_entries where id = ?', [cut.entryId])
  const left = await readRow<{ total: number | string }>(em, 'select count(*) as total from audit_chain where position <= ?', [
    cut.position,
  ])
  return [
    ...(entry?.summary.includes(cut.hash) ? [] : [`No entry says that the entries up to position ${cut.position} were deleted.`]),
    ...(Number(left?.total) > 0 ? [`Links up to position ${cut.position} are there, where they were deleted.`] : []),
  ]
}

async function countUnsealed(em: EntityManager, now: Date): Promise<{ old: number; unsealed: number }> {
  const row = await readRow<{ old: number | string | null; total: number | string }>(
    em,
    `select sum(case when e.id < ? then 1 else 0 end) as old, count(*) as total from audit_entries e
     where not exists (select 1 from audit_chain c where c.entry_id = e.id)`,
    [idAt(now.getTime() - sealedAfterMs)],
  )
  const old = Number(row?.old ?? 0)
  return { old, unsealed: Number(row?.total ?? 0) - old }
}
