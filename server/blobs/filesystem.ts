import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { archiveTooLarge } from '../errors.ts'
import { crc32c, encodeCrc32c } from './crc32c.ts'
import { collectStaged, collectStored, listStored } from './filesystem-collect.ts'
import { streamFile } from './file-stream.ts'
import type { BlobStore, StoredBytes } from './store.ts'

/**
 * Opens a store below `root`, which is made when it is missing: staged bytes in `staging/`, stored ones in `sha256/ab/cd/<hash>`, both
 * on one volume, so that a rename moves them. What a call reports as done survives a power cut.
 */
export async function openFilesystemBlobs(root: string): Promise<BlobStore> {
  const places = placesBelow(root)
  await makeDirectories([places.staging, places.stored])
  const promoting = new Set<string>()
  return {
    stage: async (name, source, limit) => stage(places.staged(name), source, limit),
    openStaged: async (name) => streamFile(places.staged(name)),
    async promote(name, sha256) {
      promoting.add(sha256)
      try {
        await promote(places.staged(name), places.blob(sha256))
      } finally {
        promoting.delete(sha256)
      }
    },
    discard: async (name) => rm(places.staged(name), { force: true }),
    open: async (sha256, range, isTaken) => streamFile(places.blob(sha256), range, isTaken),
    read: async (sha256) => readFile(places.blob(sha256)),
    list: () => listStored(places.stored),
    remove: async (sha256) => rm(places.blob(sha256), { force: true }),
    async collect(before, isKnown) {
      const abandoned = await collectStaged(places.staging, before)
      const orphaned = await collectStored(places.stored, before, isKnown, promoting)
      return { removed: abandoned + orphaned }
    },
    check: async () => void (await readdir(root)),
  }
}

/** Paths of the store. Only plain names and whole hashes become paths, so nothing leads out of the root. */
function placesBelow(root: string) {
  const [staging, stored] = [join(root, 'staging'), join(root, 'sha256')]
  return {
    staging,
    stored,
    staged: (name: string) => join(staging, valid(name, /^[0-9a-z][0-9a-z-]{0,63}$/)),
    blob: (sha256: string) => join(stored, valid(sha256, /^[0-9a-f]{64}$/).slice(0, 2), sha256.slice(2, 4), sha256),
  }
}

function valid(name: string, form: RegExp): string {
  if (!form.test(name)) throw new RangeError(`Not a name of stored bytes: ${JSON.stringify(name)}`)
  return name
}

/** Writes beside the final name and renames when all is there, so that a second try never disturbs a reader of the first. */
async function stage(path: string, source: Readable, limit: number): Promise<StoredBytes> {
  const partial = `${path}.${randomUUID()}`
  try {
    const stored = await write(partial, source, limit)
    await rename(partial, path)
    return stored
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

async function write(path: string, source: Readable, limit: number): Promise<StoredBytes> {
  const sha256 = createHash('sha256')
  let [bytes, checksum] = [0, 0]
  await using file = await open(path, 'wx')
  // The source is left whole when the limit ends the reading: it may be a request that still has to be answered.
  for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limit) throw archiveTooLarge(limit)
    sha256.update(chunk)
    checksum = crc32c(chunk, checksum)
    await file.appendFile(chunk)
  }
  await file.sync()
  return { bytes, sha256: sha256.digest('hex'), crc32c: encodeCrc32c(checksum) }
}

/** Takes staged bytes to their address. When there are none, they may have been taken there before; ENOENT when neither is so. */
async function promote(staged: string, path: string): Promise<void> {
  await makeDirectories([dirname(path)])
  await rename(staged, path).catch(unlessMissing)
  const now = new Date()
  await utimes(path, now, now)
  await syncDirectory(dirname(path))
}

/** Makes directories with those above them. A new name lasts once the directory that holds it is synced. */
async function makeDirectories(paths: string[]): Promise<void> {
  for (const path of paths) {
    const first = await mkdir(path, { recursive: true })
    if (first === undefined) continue
    for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made))
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path)
  await directory.sync()
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
