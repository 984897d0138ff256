import { closeSync, createWriteStream, openSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { LRUCache } from 'lru-cache'
import { lowSpace, serviceUnavailable } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import type { StoredBytes } from '../../../platform/blobs/store.ts'
import { openFileLimit } from '../../../platform/config/warnings.ts'
import { isOutOfFiles, unavailable } from '../../../platform/db/unavailable.ts'
import { turnOf } from '../../../platform/http/limits.ts'
import { makeJobFolder } from '../../../platform/sandbox/job-folder.ts'
import { readFreeBytes } from '../../../platform/store/health.ts'
import { ThreadFailed } from '../../../platform/threads/pool.ts'
import { openTaskQueue, type TaskQueue } from '../../../platform/threads/task-queue.ts'
import { openArchive } from '../../packages/listing/archive.ts'
import type { Place } from './unpack.ts'

/** An archive and the version that it belongs to. */
export type VersionArchive = StoredBytes & { name: string; version: string }

/** An unpacked archive: an open local file with the contents of all files, and their places by path. */
type Copy = { descriptor: number; places: ReadonlyMap<string, Place>; bytes: number; readers: number; isEvicted: boolean }

declare module '../../../services.ts' {
  interface State {
    /** Unpacked archives by hash. */
    copies?: Copies
    copyQueue?: TaskQueue
  }
}

/** Unpacked archives, and archives that are being unpacked. */
type Copies = { ready: LRUCache<string, Copy>; pending: Map<string, Promise<Copy>> }

/** Local disk space in bytes for unpacked archives, per instance. At least one archive fits. */
const maxBytes = 512 * 1024 ** 2
/** Disk space in bytes that a single archive may need. */
const maxArchiveBytes = 256 * 1024 ** 2
/** Bytes that a file counts in addition to its content, so that archives with very many files leave earlier. */
const bytesPerFile = 4096
/** Maximum number of unpacked archives, and the part of the process's open files that they may use. */
const [maxCopies, shareOfFiles] = [1000, 10]
/** How long an unpacked archive is kept without being read. */
const idleMs = 15 * 60_000

/**
 * Calls `read` with an unpacked copy of an archive. On first use, the archive is unpacked to the local disk in a thread; concurrent callers wait for
 * the same copy. Callers take turns. The copy stays open until the promise of `read` settles.
 * @throws ApiError NotFound if the version has just been deleted; ServiceUnavailable if the archive or the disk cannot be used.
 */
export async function withCopy<Result>(
  context: Context,
  archive: VersionArchive,
  read: (copy: Pick<Copy, 'descriptor' | 'places'>) => Promise<Result> | Result,
): Promise<Result> {
  const copies = (context.state.copies ??= openCopies())
  let copy = copies.ready.get(archive.sha256)
  // A copy can be evicted before a caller that waited for it continues.
  while (!copy || copy.descriptor < 0) copy = await waitFor(context, pendingCopy(context, copies, archive))
  copy.readers++
  try {
    return await read(copy)
  } finally {
    copy.readers--
    closeIfUnused(copy)
  }
}

/** Waiting for others is not counted toward the limits of the request. */
const waitFor = (context: Context, pending: Promise<Copy>): Promise<Copy> => context.budget?.uncounted(pending) ?? pending

function pendingCopy(context: Context, { ready, pending }: Copies, archive: VersionArchive): Promise<Copy> {
  const { sha256 } = archive
  let current = pending.get(sha256)
  if (!current) {
    current = queueOf(context)
      .inTurn(turnOf(context), (ask) => makeCopyWithFiles(context, archive, ready, ask))
      .then((copy) => (ready.set(sha256, copy), copy))
      .finally(() => pending.delete(sha256))
    pending.set(sha256, current)
  }
  return current
}

const openCopies = (): Copies => ({
  ready: new LRUCache({
    max: Math.max(Math.min(maxCopies, Math.floor((openFileLimit() ?? Infinity) / shareOfFiles)), 1),
    maxSize: maxBytes,
    sizeCalculation: ({ bytes, places }) => Math.min(maxBytes, bytes + (places.size + 1) * bytesPerFile),
    ttl: idleMs,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose(copy) {
      copy.isEvicted = true
      closeIfUnused(copy)
    },
  }),
  pending: new Map(),
})

/** Closing the file frees its disk space, because it has no name any more. */
function closeIfUnused(copy: Copy): void {
  if (!copy.isEvicted || copy.readers > 0 || copy.descriptor < 0) return
  closeSync(copy.descriptor)
  copy.descriptor = -1
}

const queueOf = ({ state }: Pick<Context, 'state'>): TaskQueue =>
  (state.copyQueue ??= openTaskQueue(new URL('./worker.ts', import.meta.url), {
    deadlineMs: 120_000,
    idleMs: 30_000,
    heapMb: 192,
    waiting: 1000,
    waitingPerKey: 100,
    maxWaitMs: 30_000,
    full: 'Too many archives are waiting to be unpacked. Try again in a moment.',
  }))

type Ask = (task: unknown) => Promise<unknown>

/** Makes a copy. If too many files are open, closes all copies without readers and tries once more. */
async function makeCopyWithFiles(context: Context, archive: VersionArchive, ready: Copies['ready'], ask: Ask): Promise<Copy> {
  try {
    return await makeCopy(context, archive, ask)
  } catch (error) {
    if (!isOutOfFiles(error)) throw error
    ready.clear()
    return makeCopy(context, archive, ask)
  }
}

async function makeCopy(context: Context, archive: VersionArchive, ask: Ask): Promise<Copy> {
  const { DATA_DIR, MIN_FREE_BYTES } = context.config
  const packed = await openArchive(context, archive, undefined, () => false)
  try {
    const folder = await makeJobFolder(context.config)
    try {
      const free = await readFreeBytes(DATA_DIR)
      // Two archives can be unpacked at once, each with its compressed copy.
      if (free < MIN_FREE_BYTES + 2 * (maxArchiveBytes + archive.bytes))
        throw lowSpace(`${free} bytes are free at ${DATA_DIR}, too few to unpack an archive`)
      const [from, to] = [join(folder, 'archive.tar.gz'), join(folder, 'files')]
      await (Buffer.isBuffer(packed) ? writeFile(from, packed) : pipeline(packed, createWriteStream(from)))
      const places = (await ask({ archive: from, to })) as Place[]
      const bytes = places.reduce((sum, place) => sum + place.bytes, 0)
      const byPath = new Map(places.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map((place) => [place.path, place]))
      return { descriptor: openSync(to, 'r'), places: byPath, bytes, readers: 0, isEvicted: false }
    } finally {
      // The open file remains readable without its name.
      await rm(folder, { recursive: true, force: true })
    }
  } catch (error) {
    if (!Buffer.isBuffer(packed)) packed.destroy()
    throw unpackFailure(context, archive, error)
  }
}

function unpackFailure({ log }: Context, { name, version }: VersionArchive, error: unknown): unknown {
  if (!(error instanceof ThreadFailed) || unavailable(error)) return error
  log.error(`the archive of ${name} ${version} could not be unpacked: ${error.message}`)
  return serviceUnavailable(`The files of ${name} ${version} could not be read. Try again in a minute.`, 60)
}
