import { open, readFile, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { maxPackedBytes } from '../api-pages/pack.ts'
import { readIndex } from '../api-pages/read-index.ts'
import { streamFile } from '../blobs/file-stream.ts'
import type { BlobStore, StoredBytes } from '../blobs/store.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { changeRows, readRow } from '../db/statements.ts'
import { causeOf } from '../errors.ts'
import type { Services } from '../services.ts'
import type { DocsEngine } from './service.ts'

type Store = Pick<Services, 'database' | 'docs' | 'now' | 'log'>

/** Packed pages that an attempt made. */
export type MadePages = {
  /** What it began with (service.ts, beginAttempt). */
  attempt: number
  /** Path of the packed pages; the file stays where it is. */
  file: string
  engine: DocsEngine
  /** What is written down with them, in the same transaction. */
  alongside?: (em: EntityManager) => Promise<void>
}

/**
 * Stores the packed pages of an attempt as those of its version, and takes earlier ones out of the store. False when the version is gone, or has the pages of a later attempt: nothing is changed then.
 * @throws Error when the file is no packed documentation.
 */
export async function storePages(services: Store, versionId: string, made: MadePages): Promise<boolean> {
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
  const stored = await database.fork().transactional((em) => nameStored(em, versionId, made, { sha256, bytes, pages, at: services.now() }))
  const useless = stored ? stored.earlier : sha256
  if (useless !== null && (useless !== sha256 || !stored))
    await removePages(services, useless).catch((error: unknown) =>
      log.warning(`documentation ${useless} was not removed: ${String(causeOf(error))}`),
    )
  return stored !== null
}

type Stored = { sha256: string; bytes: number; pages: number; at: Date }

/** Has the version name the pages. Gives those that it had; null when the version is gone, or has the pages of a later attempt. */
async function nameStored(
  em: EntityManager,
  versionId: string,
  { attempt, engine, alongside }: MadePages,
  { sha256, bytes, pages, at }: Stored,
): Promise<{ earlier: string | null } | null> {
  const row = await readRow<{ sha256: string | null }>(em, 'select sha256 from version_docs where version_id = ?', [versionId])
  const changed = await changeRows(
    em,
    `update version_docs set generation = ?, engine = ?, engine_version = ?, sha256 = ?, bytes = ?, pages = ?, generated_at = ?,
       state = case when requested = ? then 'completed' else state end, error = case when requested = ? then null else error end
     where version_id = ? and generation <= ?`,
    [attempt, engine.name, engine.version.slice(0, 100), sha256, bytes, pages, at, attempt, attempt, versionId, attempt],
  )
  if (changed === 0) return null
  await alongside?.(em)
  return { earlier: row?.sha256 ?? null }
}

/** Takes packed pages out of the store, unless a version has them. */
export async function removePages({ database, docs, now }: Pick<Store, 'database' | 'docs' | 'now'>, sha256: string): Promise<void> {
  const named = await readRow(database.fork(), 'select 1 from version_docs where sha256 = ?', [sha256])
  if (!named) await docs.remove(sha256, { at: now() })
}

/** A look before bytes are written; what counts is the change itself. */
async function mayReplace({ database }: Store, versionId: string, attempt: number): Promise<boolean> {
  const row = await database.reads.get<{ generation: number }>('select generation from version_docs where version_id = ?', versionId)
  return row !== undefined && row.generation <= attempt
}

/** Most packed pages are small, and read once: the memory of what is read piece by piece costs more to collect than all else here. */
const maxWholeBytes = 1024 ** 2

/** Stages packed pages and counts them. */
async function stagePages(docs: BlobStore, name: string, path: string): Promise<StoredBytes & { pages: number }> {
  const { size } = await stat(path)
  if (size > maxWholeBytes) {
    const pages = await countPages(path, size)
    return { ...(await docs.stage(name, await streamFile(path), maxPackedBytes)), pages }
  }
  const bytes = await readFile(path)
  const index = await readIndex(bytes.length, async ({ start, end }) => bytes.subarray(start, end + 1))
  return { ...(await docs.stageWhole(name, bytes)), pages: index.size }
}

async function countPages(path: string, size: number): Promise<number> {
  await using file = await open(path)
  const index = await readIndex(size, async ({ start, end }) => {
    const bytes = Buffer.allocUnsafe(end - start + 1)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    return bytes.subarray(0, bytesRead)
  })
  return index.size
}
