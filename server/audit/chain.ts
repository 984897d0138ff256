import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as turn } from 'node:timers/promises'
import { toDate } from '../db/reads/reads.ts'
import { insertRows, readRow, readRows } from '../db/statements.ts'
import { sha256 } from '../http/keys.ts'
import type { Services } from '../services.ts'

/** An entry as plain SQL reads it. */
export type EntryRow = {
  id: string
  created_at: number | string | Date
  kind: string
  summary: string
  actor_id: string | null
  user_id: string | null
  package: string | null
  publisher: string | null
  version: string | null
  client_ip: string | null
}
const contents = ['kind', 'summary', 'actor_id', 'user_id', 'package', 'publisher', 'version', 'client_ip'] as const

/** What `hashOf` needs of the table `e`. */
export const entryColumns = ['id', 'created_at', ...contents].map((column) => `e.${column}`).join(', ')

/** The hash of an entry in the chain: whoever changes it, or one before it, would have to change every hash after it. */
export const hashOf = (before: string, entry: EntryRow): string =>
  sha256(`${before}\n${JSON.stringify([entry.id, toDate(entry.created_at).toISOString(), ...contents.map((name) => entry[name])])}`)

/** What stands before the first entry. */
export const start = '0'.repeat(64)

/** A place in the chain. */
export type Place = { position: number; hash: string }

/** So many entries are sealed by one transaction, between which requests are answered. */
const atOnce = 100
/** Entries that were committed so long after they got their id are still found, also after a pause, without looking at all of them. */
const lookBackMs = 3_600_000

/**
 * Puts the entries that are not in the hash chain yet at its end. That happens beside the changes that make entries, so that none of them waits
 * for another; the log says how far the chain goes, so that whoever keeps the log has a proof outside of the database. Of several that do this at
 * the same time, one succeeds.
 */
export async function sealEntries({ database, log, now }: Pick<Services, 'database' | 'log' | 'now'>): Promise<void> {
  let [sealed, head]: [number, Place | undefined] = [0, undefined]
  for (;;) {
    const added = await sealSome(database.fork(), now())
    if (!added) break
    ;[sealed, head] = [sealed + added.count, added.head]
    if (added.count < atOnce) break
    await turn()
  }
  if (head) log.info(`audit log: sealed ${sealed} entries up to position ${head.position}, hash ${head.hash}`)
}

async function sealSome(em: EntityManager, now: Date): Promise<{ count: number; head: Place } | null> {
  // Most often there is none, which needs no transaction to see.
  if ((await readUnsealed(em, now, 1)).entries.length === 0) return null
  try {
    return await em.fork().transactional(async (inner) => {
      const { last, entries } = await readUnsealed(inner, now, atOnce)
      let head: Place = last
      const links = entries.map((entry) => {
        head = { position: head.position + 1, hash: hashOf(head.hash, entry) }
        return { entry_id: entry.id, ...head }
      })
      await insertRows(inner, 'audit_chain', links)
      return { count: links.length, head }
    })
  } catch (error) {
    // Another instance was faster: no two links have the same position.
    if (error instanceof UniqueConstraintViolationException) return null
    throw error
  }
}

async function readUnsealed(em: EntityManager, now: Date, limit: number): Promise<{ last: Place; entries: EntryRow[] }> {
  const row = await readRow<{ position: number | string; hash: string; entry_id: string }>(
    em,
    'select position, hash, entry_id from audit_chain order by position desc limit 1',
    [],
  )
  const latest = row === undefined ? 0 : Math.min(momentOfId(row.entry_id), now.getTime())
  const entries = await readRows<EntryRow>(
    em,
    `select ${entryColumns} from audit_entries e
     where e.id > ? and not exists (select 1 from audit_chain c where c.entry_id = e.id) order by e.id limit ${limit}`,
    [idAt(latest - lookBackMs)],
  )
  return { last: { position: Number(row?.position ?? 0), hash: row?.hash ?? start }, entries }
}

/** What sorts before every id that was made at this moment or later: they begin with it (UUIDv7). */
export function idAt(ms: number): string {
  const digits = Math.max(ms, 0).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`
}

/** When an id was made. */
const momentOfId = (id: string): number => Number.parseInt(id.slice(0, 13).replace('-', ''), 16)
