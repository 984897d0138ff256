import type { EntityManager } from '@mikro-orm/sql'
import { isRefusedForMove } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { RenderedText } from './entity.ts'

type Store = Pick<Services, 'database' | 'log' | 'now'>

/** Maximum size of the cached HTML. Beyond it, the oldest entries are deleted; rendering a text again takes milliseconds. */
const maxBytes = 256 * 1024 ** 2
/** Number of new texts after which the total size is checked. */
const trimEvery = 100
/** Time after which a text that took too long is rendered again, because the machine may have been busy. */
const retryMs = 24 * 3_600_000

let added = 0

/** Returns the cached HTML of a text. Returns null for a text that recently took too long, and undefined for a text that is not cached. */
export async function findCachedHtml({ database, now }: Store, hash: string): Promise<string | null | undefined> {
  const row = await database.reads.get<{ html: string | null; created_at: number | string | Date }>(
    'select html, created_at from rendered_texts where hash = ?',
    hash,
  )
  if (!row || row.html !== null) return row?.html
  return new Date(row.created_at).getTime() + retryMs > now().getTime() ? null : undefined
}

/** Caches the HTML of a text. Failures are only logged, because the text can be rendered again. */
export async function cacheHtml(store: Store, hash: string, html: string | null): Promise<void> {
  const { database, log, now } = store
  try {
    const em = database.fork()
    await em.upsert(RenderedText, { hash, html, bytes: html === null ? 0 : Buffer.byteLength(html), createdAt: now() })
    if (++added % trimEvery === 0) await trimRendered(em, maxBytes)
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`a rendered text could not be cached: ${String(error)}`)
  }
}

/** Deletes the oldest entries until at most `limit` bytes are cached. */
export async function trimRendered(em: EntityManager, limit: number): Promise<void> {
  await em.execute(
    `delete from rendered_texts where hash in (
      select hash from (select hash, sum(bytes) over (order by created_at desc, hash) as held from rendered_texts) as newest where held > ?)`,
    [limit],
  )
}
