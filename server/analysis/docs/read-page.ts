import { buffer } from 'node:stream/consumers'
import { type PackedPage, readIndex } from '../api-pages/read-index.ts'
import { DamagedBytes } from '../../platform/blobs/store.ts'
import { causeOf, storageAway } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { PagesLost } from './lost.ts'

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Page indexes of packed documentation, keyed by the hash of the packed file. */
    documentation: ReadonlyMap<string, PackedPage>
  }
}

type Store = Pick<Services, 'caches' | 'docs' | 'log'>
type Packed = { sha256: string; bytes: number }

/**
 * Returns the location of a page in packed documentation, or null if the page does not exist. Indexes are cached.
 * @throws PagesLost when the pages are missing or damaged; ApiError ServiceUnavailable when the store cannot be read.
 */
export async function findPage(store: Store, packed: Packed, path: string): Promise<PackedPage | null> {
  const index = await readable(store, packed, () => indexOf(store, packed))
  return index.get(path) ?? null
}

/**
 * Returns a complete page, gzip-compressed.
 * @throws PagesLost when the pages are missing or damaged; ApiError ServiceUnavailable when the store cannot be read.
 */
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
