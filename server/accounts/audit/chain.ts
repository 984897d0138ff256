import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { ExpressionBuilder, InferResult } from 'kysely'
import { setImmediate as turn } from 'node:timers/promises'
import { db, type Tables } from '../../platform/db/query.ts'
import { insertRows, readRow, readRows } from '../../platform/db/statements.ts'
import { sha256 } from '../../platform/http/keys.ts'
import type { Services } from '../../services.ts'

const contents = ['kind', 'summary', 'actor_id', 'user_id', 'package', 'publisher', 'version', 'client_ip'] as const

/** The columns that `hashOf` needs. */
const entryColumns = [
  ...(['e.id', 'e.created_at', 'e.kind', 'e.summary', 'e.actor_id'] as const),
  ...(['e.user_id', 'e.package', 'e.publisher', 'e.version', 'e.client_ip'] as const),
] as const

const entries = db.selectFrom('audit_entries as e').select(entryColumns)
type EntryRow = InferResult<typeof entries>[number]

/** Returns the hash of an entry in the chain. Each hash covers the previous one, so changing an entry requires changing all later hashes. */
const hashOf = (before: string, entry: EntryRow): string =>
  sha256(`${before}\n${JSON.stringify([entry.id, entry.created_at.toISOString(), ...contents.map((name) => entry[name])])}`)

/** Initial hash of the chain, which the hash of the first entry builds on. */
const start = '0'.repeat(64)

/** A position in the hash chain and the hash at that position. */
export type Place = { position: number; hash: string }

/** Entries sealed per transaction. Between transactions, other requests are served. */
const atOnce = 100
/** How far back to look for entries that committed later than entries with newer ids. Limits the scan to recent entries. */
const lookBackMs = 3_600_000

/**
 * Appends entries that are not yet in the hash chain. This happens outside of the transactions that create entries, so that they do not wait for
 * each other. The new head of the chain is logged as evidence outside of the database. If several instances run this at the same time, one
 * succeeds.
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
  // Usually every entry is already sealed. Checking that first avoids a transaction.
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
    // Another instance has sealed entries at the same positions first.
    if (error instanceof UniqueConstraintViolationException) return null
    throw error
  }
}

async function readUnsealed(em: EntityManager, now: Date, limit: number): Promise<{ last: Place; entries: EntryRow[] }> {
  const last = db.selectFrom('audit_chain').select(['position', 'hash', 'entry_id']).orderBy('position', 'desc').limit(1)
  const row = await readRow(em, last)
  const latest = row === undefined ? 0 : Math.min(momentOfId(row.entry_id), now.getTime())
  const recent = entries.where('e.id', '>', idAt(latest - lookBackMs)).where(isUnsealed)
  const unsealed = await readRows(em, recent.orderBy('e.id').limit(limit))
  return { last: { position: row?.position ?? 0, hash: row?.hash ?? start }, entries: unsealed }
}

/** Whether an entry (`e`) is not yet in the hash chain. */
export const isUnsealed = ({ not, exists, selectFrom }: ExpressionBuilder<Tables & { e: Tables['audit_entries'] }, 'e'>) =>
  not(exists(selectFrom('audit_chain as c').select('c.entry_id').whereRef('c.entry_id', '=', 'e.id')))

/** Returns a lower bound for the ids that are created at this time or later. Ids are UUIDv7 and start with their timestamp. */
export function idAt(ms: number): string {
  const digits = Math.max(ms, 0).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`
}

/** Returns the time at which an audit entry's id was created, in milliseconds. */
const momentOfId = (id: string): number => Number.parseInt(id.slice(0, 13).replace('-', ''), 16)

/** A position in the hash chain up to which entries were deleted by retention. */
export type Cut = Place & { entryId: string; keptFrom: Date }

/** Returns the last deletion by retention; null if no entries were deleted. */
export async function lastCut(em: EntityManager): Promise<Cut | null> {
  const cuts = db.selectFrom('audit_cuts').select(['position', 'hash', 'entry_id as entryId', 'kept_from as keptFrom'])
  return (await readRow(em, cuts.orderBy('position', 'desc').limit(1))) ?? null
}

/** Returns the chain position and hash that the oldest remaining audit entry builds on. */
export const auditAnchor = (cut: Cut | null): Place => cut ?? { position: 0, hash: start }

/** A link of the hash chain with its entry, or without if the entry was removed. */
export type Link = { position: number; hash: string; entry_id: string } & ({ id: null } | EntryRow)

/** Reads the next links after a position in order, with their entries, in one consistent read. */
export const readLinks = (em: EntityManager, after: number, limit: number): Promise<Link[]> =>
  readRows(
    em,
    db
      .selectFrom('audit_chain as c')
      .leftJoin('audit_entries as e', 'e.id', 'c.entry_id')
      .select(['c.position', 'c.hash', 'c.entry_id', ...entryColumns])
      .where('c.position', '>', after)
      .orderBy('c.position')
      .limit(limit)
      .$castTo<Link>(),
  )

/** Returns what is wrong with a link of the hash chain that should follow the given position. */
export function problemsOf({ position, hash }: Place, link: Link): string[] {
  const found = link.position
  const gap = found === position + 1 ? [] : [`The chain lacks the positions ${position + 1} to ${found - 1}.`]
  if (link.id === null) return [...gap, `The entry ${link.entry_id} at position ${found} was removed.`]
  return hashOf(hash, link) === link.hash ? gap : [...gap, `The entry ${link.id} at position ${found}, or its hash, was changed.`]
}
