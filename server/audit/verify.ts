import type { EntityManager } from '@mikro-orm/sql'
import { readRow, readRows } from '../db/statements.ts'
import { entryColumns, type EntryRow, hashOf, idAt, start } from './chain.ts'

/** What a look at the whole chain found. */
export type Verdict = {
  entries: number
  /** The hash of the last entry in the chain; null when there is none. */
  head: string | null
  /** Entries that are not in the chain yet: the server adds them within a minute. */
  unsealed: number
  /** What is wrong, a line each. */
  problems: string[]
}

type Link = { position: number | string; hash: string; entry_id: string } & ({ id: null } | EntryRow)

/** So many links are read at once. */
const atOnce = 1000
/** An entry of this age that is not in the chain was added behind the server's back. */
const sealedAfterMs = 3_600_000

/**
 * Compares every audit entry with the hash chain. `known` is a hash that the chain had before, as the log or an earlier verification told: without
 * one, whoever rewrote all entries and all hashes goes unnoticed.
 */
export async function verifyChain(em: EntityManager, now: Date, known?: string): Promise<Verdict> {
  const problems: string[] = []
  let [position, before, hasKnown] = [0, start, known === undefined]
  for (;;) {
    const links = await readRows<Link>(
      em,
      `select c.position, c.hash, c.entry_id, ${entryColumns} from audit_chain c left join audit_entries e on e.id = c.entry_id
       where c.position > ? order by c.position limit ${atOnce}`,
      [position],
    )
    for (const link of links) {
      const next = Number(link.position)
      if (next !== position + 1) problems.push(`The chain lacks the positions ${position + 1} to ${next - 1}.`)
      if (link.id === null) problems.push(`The entry ${link.entry_id} at position ${next} was removed.`)
      else if (hashOf(before, link) !== link.hash) problems.push(`The entry ${link.id} at position ${next}, or its hash, was changed.`)
      ;[position, before, hasKnown] = [next, link.hash, hasKnown || link.hash === known]
    }
    if (links.length < atOnce) break
  }
  const { old, unsealed } = await countUnsealed(em, now)
  if (old > 0) problems.push(`Entries older than an hour that are not in the chain: ${old}. They were added, or the server did not run.`)
  if (!hasKnown)
    problems.push(`The hash ${known} is not in the chain. The chain was made anew, its end was removed, or an older backup was restored.`)
  return { entries: position, head: position === 0 ? null : before, unsealed, problems }
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
