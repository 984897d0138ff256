import { buffer } from 'node:stream/consumers'
import { DamagedBytes } from '../../platform/blobs/store.ts'
import { causeOf, storageAway, serviceUnavailable } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { type PackedPage, readIndex } from '../api-pages/pack.ts'
import { db } from '../../platform/db/query.ts'
import { readRows, changeRows } from '../../platform/db/statements.ts'
import { unavailable } from '../../platform/db/unavailable.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { analysisKind, areDocsOn, type FoundVersion } from './service.ts'

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Page indexes of packed documentation, keyed by the hash of the packed file. */
    documentation: ReadonlyMap<string, PackedPage>
  }
}

type Store = Pick<Services, 'caches' | 'docs' | 'log'>
export type Packed = { sha256: string; bytes: number }

/** Returns where a page is in packed documentation, or null. Indexes are cached. @throws PagesLost; ApiError ServiceUnavailable */
export async function findPage(store: Store, packed: Packed, path: string): Promise<PackedPage | null> {
  const index = await readable(store, packed, () => indexOf(store, packed))
  return index.get(path) ?? null
}

/** Returns a complete page, gzip-compressed. @throws PagesLost; ApiError ServiceUnavailable when the store cannot be read. */
export function readPage(store: Store, packed: Packed, { offset, length }: PackedPage): Promise<Buffer> {
  return readable(store, packed, () => readRange(store.docs, packed.sha256, { start: offset, end: offset + length - 1 }))
}

async function indexOf({ caches, docs }: Store, { sha256, bytes }: Packed): Promise<ReadonlyMap<string, PackedPage>> {
  const known = caches.documentation.get(sha256)
  if (known) return known
  const index = await readIndex(bytes, (range) => readRange(docs, sha256, range))
  caches.documentation.set(sha256, index)
  return index
}

const readRange = async (docs: Services['docs'], sha256: string, range: { start: number; end: number }): Promise<Buffer> =>
  buffer(await docs.open(sha256, range))

/** Retries after restoring pages that were deleted by mistake. */
async function readable<Found>({ docs, log }: Store, { sha256 }: Packed, read: () => Promise<Found>): Promise<Found> {
  try {
    return await read().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && (await docs.restore(sha256))) return read()
      throw error
    })
  } catch (error) {
    const isLost = error instanceof DamagedBytes || (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isLost) throw new PagesLost()
    log.error(`documentation ${sha256} cannot be read: ${String(causeOf(error))}`)
    throw storageAway(error)
  }
}

/** The stored pages are missing or damaged, for example deleted, or left behind in a former documentation store. */
export class PagesLost extends Error {}

type RecoveryServices = Pick<Services, 'config' | 'database' | 'docs' | 'log' | 'now'>

/**
 * Removes lost pages from their versions and queues their regeneration, or records an error if documentation is switched off. @throws ApiError
 * ServiceUnavailable while the store is unavailable or full, or the database is read-only.
 */
export async function regenerateLost(services: RecoveryServices, sha256: string): Promise<void> {
  const { docs, database, log, now } = services
  await docs.check().catch((error: unknown) => {
    throw storageAway(error)
  })
  const isOn = await areDocsOn(services)
  const attempt = isOn
    ? ({ state: 'pending', error: null } as const)
    : ({ state: 'failed', error: 'the pages are no longer in the store.' } as const)
  try {
    const versions = await database.fork().transactional(async (em) => {
      const rows = await readRows(em, db.selectFrom('version_docs').select('version_id as id').where('sha256', '=', sha256))
      const withoutPages = { sha256: null, bytes: null, pages: 0, generated_at: null }
      await changeRows(
        em,
        db
          .updateTable('version_docs')
          .set({ ...withoutPages, ...attempt })
          .where('sha256', '=', sha256),
      )
      if (isOn) for (const { id } of rows) await enqueue(em, { kind: analysisKind, subject: id }, now())
      return rows.length
    })
    // Delete damaged bytes, so that they are not mistaken for the regenerated ones.
    await docs.remove(sha256, { at: now() })
    if (versions > 0)
      log.warning(
        `documentation ${sha256} is missing or damaged${isOn ? ' and will be generated again' : ', and generating documentation is switched off'}`,
      )
  } catch (failure) {
    if (!unavailable(failure)) throw failure
    throw serviceUnavailable('This documentation is missing or damaged and cannot be regenerated at the moment.', 300)
  }
}

/** Queues an analysis that replaces pages of an earlier version of this server, which have their own layout. Failures do not affect the caller. */
export async function refresh(services: RecoveryServices, { id, docs, isAwaited }: FoundVersion): Promise<void> {
  if (docs?.engine !== 'built-in' || docs.state !== 'completed' || isAwaited || !(await areDocsOn(services))) return
  await services.database
    .fork()
    .transactional((em) => enqueue(em, { kind: analysisKind, subject: id }, services.now()))
    .catch((failure: unknown) => {
      if (!unavailable(failure)) throw failure
    })
}
