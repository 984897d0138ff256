import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { maxPackedBytes } from '../api-pages/pack.ts'
import { readIndex } from '../api-pages/read-index.ts'
import type { Services } from '../services.ts'
import type { DocsEngine } from './service.ts'

type Store = Pick<Services, 'database' | 'docs' | 'now' | 'log'>

/**
 * Stores the packed pages of an attempt (service.ts, markPending) as those of its version, and takes earlier ones out of the store. The file
 * stays where it is. False when the version is gone, or has the pages of a later attempt: nothing is changed then.
 * @throws Error when the file is no packed documentation.
 */
export async function storePages(services: Store, versionId: string, attempt: number, file: string, engine: DocsEngine): Promise<boolean> {
  const { database, docs, now, log } = services
  const pages = await countPages(file)
  const staged = `docs-${randomUUID()}`
  const { sha256, bytes } = await docs.stage(staged, createReadStream(file), maxPackedBytes)
  try {
    if (!(await mayReplace(services, versionId, attempt))) return false
    await docs.promote(staged, sha256)
  } finally {
    await docs.discard(staged)
  }
  const stored = await database.fork().transactional(async (em) => {
    const [earlier] = await em.execute<{ sha256: string | null }[]>('select sha256 from version_docs where version_id = ?', [versionId])
    const changed = await em.execute<unknown[]>(
      `update version_docs set generation = ?, engine = ?, engine_version = ?, sha256 = ?, bytes = ?, pages = ?, generated_at = ?,
         state = case when requested = ? then 'completed' else state end, error = case when requested = ? then null else error end
       where version_id = ? and generation <= ? returning version_id`,
      [attempt, engine.name, engine.version.slice(0, 100), sha256, bytes, pages, now(), attempt, attempt, versionId, attempt],
    )
    return changed.length > 0 ? { earlier: earlier?.sha256 ?? null } : null
  })
  const useless = stored ? stored.earlier : sha256
  if (useless !== null && (useless !== sha256 || !stored))
    await removePages(services, useless).catch((error: unknown) =>
      log.warning(`documentation ${useless} was not removed: ${String(error)}`),
    )
  return stored !== null
}

/** Takes packed pages out of the store, unless a version has them. */
export async function removePages({ database, docs, now }: Pick<Store, 'database' | 'docs' | 'now'>, sha256: string): Promise<void> {
  const [named] = await database.fork().execute<unknown[]>('select 1 from version_docs where sha256 = ?', [sha256])
  if (!named) await docs.remove(sha256, { at: now() })
}

/** A look before bytes are written; what counts is the change itself. */
async function mayReplace({ database }: Store, versionId: string, attempt: number): Promise<boolean> {
  const row = await database.reads.get<{ generation: number }>('select generation from version_docs where version_id = ?', versionId)
  return row !== undefined && row.generation <= attempt
}

async function countPages(path: string): Promise<number> {
  await using file = await open(path)
  const { size } = await file.stat()
  const index = await readIndex(size, async ({ start, end }) => {
    const bytes = Buffer.alloc(end - start + 1)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    return bytes.subarray(0, bytesRead)
  })
  return index.size
}
