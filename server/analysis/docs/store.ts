import { open, readFile, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { maxPackedBytes, type PackedPage, readIndex } from '../api-pages/pack.ts'
import { isPagePath } from '../api-pages/symbols.ts'
import { streamFile } from '../../platform/blobs/file-stream.ts'
import type { BlobStore, StoredBytes } from '../../platform/blobs/store.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { causeOf } from '../../errors.ts'
import type { Services } from '../../services.ts'
import type { DocsEngine } from './service.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'

type Store = Pick<Services, 'database' | 'docs' | 'now' | 'log'>

export type GeneratedPages = {
  /** Number of the attempt, from `beginAttempt` in service.ts. */
  attempt: number
  /** Path of the packed pages. The file is not deleted. */
  file: string
  engine: DocsEngine
  inSameTransaction?: (em: EntityManager) => Promise<void>
}

/**
 * Stores the packed pages of an attempt and deletes the previous ones. Returns false without changes if the version was deleted or has the pages of a
 * later attempt. @throws Error when the file is not packed documentation.
 */
export async function storePages(services: Store, versionId: string, made: GeneratedPages): Promise<boolean> {
  const { database, docs, log } = services
  const { attempt, file } = made
  const staged = `docs-${randomUUID()}`
  const { sha256, bytes, pages } = await stagePages(docs, staged, file)
  try {
    if (!(await mayReplace(services, versionId, attempt))) return false
    await docs.promote(staged, sha256)
  } finally {
    await docs.discard(staged)
  }
  const stored = await database.fork().transactional((em) => recordPages(em, versionId, made, { sha256, bytes, pages, at: services.now() }))
  const obsolete = stored ? stored.earlier : sha256
  if (obsolete !== null && (obsolete !== sha256 || !stored))
    await removePages(services, obsolete).catch((error: unknown) =>
      log.warning(`documentation ${obsolete} was not removed: ${String(causeOf(error))}`),
    )
  return stored !== null
}

type Stored = { sha256: string; bytes: number; pages: number; at: Date }

/** Records the pages. Returns the hash of the previous pages, or null if the version was deleted or has pages of a later attempt. */
async function recordPages(
  em: EntityManager,
  versionId: string,
  { attempt, engine, inSameTransaction }: GeneratedPages,
  { sha256, bytes, pages, at }: Stored,
): Promise<{ earlier: string | null } | null> {
  const ofVersion = db.selectFrom('version_docs').select('sha256').where('version_id', '=', versionId)
  const row = await readRow(em, ofVersion)
  const changed = await changeRows(
    em,
    db
      .updateTable('version_docs')
      .set({
        generation: attempt,
        engine: engine.name,
        engine_version: engine.version.slice(0, 100),
        sha256,
        bytes,
        pages,
        generated_at: at,
      })
      .set((eb) => {
        const isLast = eb('requested', '=', attempt)
        return {
          state: eb
            .case()
            .when(isLast)
            .then('completed' as const)
            .else(eb.ref('state'))
            .end(),
          error: eb.case().when(isLast).then(null).else(eb.ref('error')).end(),
        }
      })
      .where('version_id', '=', versionId)
      .where('generation', '<=', attempt),
  )
  if (changed === 0) return null
  await inSameTransaction?.(em)
  return { earlier: row?.sha256 ?? null }
}

/** Deletes packed pages from the store, unless a version uses them. */
export async function removePages({ database, docs, now }: Pick<Store, 'database' | 'docs' | 'now'>, sha256: string): Promise<void> {
  const named = await readRow(database.fork(), db.selectFrom('version_docs').select('sha256').where('sha256', '=', sha256))
  if (!named) await docs.remove(sha256, { at: now() })
}

/** Checks whether pages would be accepted, to avoid storing them in vain. The update in `recordPages` makes the final decision. */
async function mayReplace({ database }: Store, versionId: string, attempt: number): Promise<boolean> {
  const row = await database.reads.get(db.selectFrom('version_docs').select('generation').where('version_id', '=', versionId))
  return row !== undefined && row.generation <= attempt
}

/** Most packed pages are small. Reading small files at once avoids the garbage collection cost of many small chunks. */
const maxWholeBytes = 1024 ** 2

async function stagePages(docs: BlobStore, name: string, path: string): Promise<StoredBytes & { pages: number }> {
  const { size } = await stat(path)
  if (size > maxWholeBytes) {
    const pages = await countPagesIn(path, size)
    return { ...(await docs.stage(name, await streamFile(path), maxPackedBytes)), pages }
  }
  const bytes = await readFile(path)
  const index = await readIndex(bytes.length, async ({ start, end }) => bytes.subarray(start, end + 1))
  return { ...(await docs.stageWhole(name, bytes)), pages: countPages(index) }
}

const countPages = (index: ReadonlyMap<string, PackedPage>): number => [...index.keys()].filter(isPagePath).length

async function countPagesIn(path: string, size: number): Promise<number> {
  await using file = await open(path)
  const index = await readIndex(size, async ({ start, end }) => {
    const bytes = Buffer.allocUnsafe(end - start + 1)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    return bytes.subarray(0, bytesRead)
  })
  return countPages(index)
}

const dayMs = 86_400_000
const batchSize = 500

/**
 * Deletes orphaned documentation older than a day from a separate documentation store (DOCS_BACKEND=filesystem). In a store shared with the archives,
 * documentation is collected together with them. Documentation can be regenerated, so it is deleted immediately. Returns the number of deleted files.
 */
export async function collectDocs(
  services: Pick<Services, 'database' | 'state' | 'docs' | 'blobs' | 'config' | 'now' | 'log'>,
): Promise<number> {
  const { database, docs, blobs, now, log } = services
  if (docs === blobs || !(await isSetUp(services))) return 0
  const [at, dayAgo] = [now(), new Date(now().getTime() - dayMs)]
  let removed = 0
  for await (const batch of batches(docs.list())) {
    const hashes = batch.filter(({ storedAt }) => storedAt < dayAgo).map(({ sha256 }) => sha256)
    if (hashes.length === 0) continue
    const rows = await readRows(database.fork(), db.selectFrom('version_docs').select('sha256').where('sha256', 'in', hashes))
    const named = new Set(rows.map(({ sha256 }) => sha256))
    for (const sha256 of hashes) if (!named.has(sha256) && (await docs.remove(sha256, { at, before: dayAgo })) !== null) removed += 1
  }
  await docs.collectStaged(dayAgo)
  // Keep removed files until no running backup can need them.
  if (!(await areRemovalsHeld(database.fork(), at))) await docs.purge(new Date(at.getTime() + 1))
  if (removed > 0) log.info(`collecting: removed the documentation of ${removed} versions that were deleted or have newer pages`)
  return removed
}

async function* batches<Entry>(entries: AsyncIterable<Entry>): AsyncGenerator<Entry[]> {
  let batch: Entry[] = []
  for await (const entry of entries) {
    batch.push(entry)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
