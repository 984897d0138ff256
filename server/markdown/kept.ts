import type { EntityManager } from '@mikro-orm/sql'
import { isRefusedForMove } from '../db/unavailable.ts'
import type { Services } from '../services.ts'
import { RenderedText } from './entity.ts'

type Store = Pick<Services, 'database' | 'log' | 'now'>

/** So much HTML is kept; beyond it, what was made first goes. A renewed one costs milliseconds. */
const maxBytes = 256 * 1024 ** 2
/** How often the sum is looked at: every so many texts. */
const trimEvery = 100
/** What took too long is tried again after this; the machine may have been busy. */
const retryMs = 24 * 3_600_000

let added = 0

/** The kept HTML of a text; null for one that took too long lately, undefined for one that was not rendered yet. */
export async function findRendered({ database, now }: Store, hash: string): Promise<string | null | undefined> {
  const row = await database.reads.get<{ html: string | null; created_at: number | string | Date }>(
    'select html, created_at from rendered_texts where hash = ?',
    hash,
  )
  if (!row || row.html !== null) return row?.html
  return new Date(row.created_at).getTime() + retryMs > now().getTime() ? null : undefined
}

/** Keeps it. When that fails, the text is rendered again another time. */
export async function keepRendered(store: Store, hash: string, html: string | null): Promise<void> {
  const { database, log, now } = store
  try {
    const em = database.fork()
    await em.upsert(RenderedText, { hash, html, bytes: html === null ? 0 : Buffer.byteLength(html), createdAt: now() })
    if (++added % trimEvery === 0) await trimRendered(em, maxBytes)
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`a rendered text could not be kept: ${String(error)}`)
  }
}

/** Removes what was made first until no more than `limit` bytes are kept. */
export async function trimRendered(em: EntityManager, limit: number): Promise<void> {
  await em.execute(
    `delete from rendered_texts where hash in (
      select hash from (select hash, sum(bytes) over (order by created_at desc, hash) as held from rendered_texts) as newest where held > ?)`,
    [limit],
  )
}
