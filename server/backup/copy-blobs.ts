import type { EntityManager } from '@mikro-orm/sql'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../blobs/directories.ts'
import { type BlobStore, DamagedBytes } from '../blobs/store.ts'
import { makeFolder } from '../db/private-files.ts'
import { forEachOf } from './at-once.ts'
import { hashFile, writeHashed } from './files.ts'
import type { Places } from './layout.ts'
import type { Lack } from './manifest.ts'
import type { NamedBlob } from './named-blobs.ts'

/** Where blobs come from. */
export type BlobSource = { em: EntityManager; stores: Record<NamedBlob['store'], BlobStore>; now: () => Date }
/** What was done: how many blobs are named, how many were not there yet, and which the server does not have whole. */
export type CopiedBlobs = { count: number; bytes: number; copied: number; lacking: Lack[] }

/**
 * Brings every blob of a list into the folder of backups that is not there with the right hash. Those of versions that were deleted
 * meanwhile are taken from what was removed. What the server lacks is told, and keeps nothing else from being copied.
 */
export async function copyBlobs(
  source: BlobSource,
  places: Places,
  list: AsyncIterable<NamedBlob>,
  { signal, report }: { signal: AbortSignal; report?: ((done: number) => void) | undefined },
): Promise<CopiedBlobs> {
  const done: CopiedBlobs = { count: 0, bytes: 0, copied: 0, lacking: [] }
  const touched = new Set<string>()
  await forEachOf(list, async (blob) => {
    signal.throwIfAborted()
    done.count++
    report?.(done.count)
    done.bytes += blob.bytes
    const target = places.blob(blob.sha256)
    if (existsSync(target) && (await hashFile(target)).sha256 === blob.sha256) return
    const problem = await copyOne(source, places, blob)
    if (problem) return void done.lacking.push({ sha256: blob.sha256, problem })
    done.copied++
    touched.add(dirname(target))
  })
  // The names last once the folders do, those above included.
  const folders = new Set([...touched].flatMap((folder) => [folder, dirname(folder)]))
  for (const folder of [...folders, places.blobs]) await syncDirectory(folder)
  return done
}

async function copyOne(source: BlobSource, places: Places, { sha256, store }: NamedBlob): Promise<Lack['problem'] | null> {
  const partial = join(places.partial, `${sha256}.${randomUUID()}`)
  try {
    const found = await read(source, { sha256, store }, partial)
    if (found !== sha256) return found === null ? 'missing' : 'damaged'
    const target = places.blob(sha256)
    makeFolder(dirname(target))
    await rename(partial, target)
    return null
  } finally {
    await rm(partial, { force: true })
  }
}

/** Reads bytes into a file; gives the hash that they have, null when there are none. */
async function read(source: BlobSource, { sha256, store }: Pick<NamedBlob, 'sha256' | 'store'>, path: string): Promise<string | null> {
  const blobs = source.stores[store]
  try {
    return (await writeHashed(path, await blobs.open(sha256))).sha256
  } catch (error) {
    if (error instanceof DamagedBytes) return 'damaged'
    if (!isMissing(error)) throw error
  }
  if (!(await blobs.restore(sha256))) return null
  try {
    await rm(path, { force: true })
    return (await writeHashed(path, await blobs.open(sha256))).sha256
  } finally {
    await removeAgain(source, blobs, sha256)
  }
}

/** What was put back to be read is taken out again, unless something names it now. */
async function removeAgain({ em, now }: BlobSource, blobs: BlobStore, sha256: string): Promise<void> {
  const named = await em.execute<unknown[]>(
    'select 1 from package_versions where archive_sha256 = ? union all select 1 from version_docs where sha256 = ?',
    [sha256, sha256],
  )
  if (named.length === 0) await blobs.remove(sha256, { at: now() })
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'
