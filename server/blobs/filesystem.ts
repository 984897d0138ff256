import { hash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { makeDirectories, makeDirectoryBelow, syncNames } from './directories.ts'
import { bytesOf, streamFile } from './file-stream.ts'
import { collectStaged, listStored } from './filesystem-collect.ts'
import { readMarker, writeMarker } from './marker-file.ts'
import { listRemoved, purgeRemoved, restoreRemoved, setAside } from './filesystem-removed.ts'
import { factsOf, hashOf, measure } from './measured.ts'
import { stagedName, storedAt } from './names.ts'
import { watchRoom } from './room.ts'
import { openStagedSyncs, type StagedSyncs } from './staged-syncs.ts'
import { type BlobStore, DamagedBytes, type StoredBytes } from './store.ts'
import { openVerifier } from './verified-reads.ts'

/**
 * Opens a store below `root`, which is made when it is missing: staged bytes in `staging/`, stored ones in `sha256/ab/cd/<hash>`, removed ones
 * in `removed/`, all on one volume, so that a rename moves them. What a call reports as done survives a power cut.
 */
export async function openFilesystemBlobs(root: string): Promise<BlobStore> {
  const [places, marker] = [placesBelow(root), join(root, 'store-id')]
  await makeDirectories([places.staging, places.stored, places.removed])
  const [promoting, lasting] = [new Set<string>(), new Set<string>()]
  const [room, verifier, syncs] = [watchRoom(root), openVerifier(), openStagedSyncs()]
  return {
    stage: (name, source, limit) => room.write(async () => stage(syncs, places.staged(name), source, limit)),
    stageWhole: (name, bytes) => room.write(async () => stageWhole(syncs, places.staged(name), bytes)),
    openStaged: async (name) => streamFile(places.staged(name)),
    async promote(name, sha256) {
      promoting.add(sha256)
      try {
        await room.write(async () => {
          await syncs.settle(places.staged(name))
          await promote(places.staged(name), places.blob(sha256), { stored: places.stored, lasting })
        })
      } finally {
        promoting.delete(sha256)
      }
    },
    discard: async (name) => rm(places.staged(name), { force: true }),
    ...readsOf(places, verifier),
    link: async () => null,
    has: async (sha256) => existsSync(places.blob(sha256)),
    list: () => listStored(places.stored),
    remove: async (sha256, { at, before = null }) =>
      promoting.has(sha256) ? null : setAside(places.blob(sha256), places.removed, sha256, { at, before }),
    listRemoved: () => listRemoved(places.removed),
    restore: (sha256) => room.write(async () => restoreRemoved(places.removed, sha256, places.blob(sha256))),
    purge: (before) => purgeRemoved(places.removed, before),
    collectStaged: (before) => collectStaged(places.staging, before),
    identity: () => readMarker(marker),
    identify: (id, { replace } = { replace: false }) => room.write(() => writeMarker(marker, id, { replace })),
    check: () => room.check(),
  }
}

/** How stored bytes are read: compared with their address. */
function readsOf(
  places: ReturnType<typeof placesBelow>,
  verifier: ReturnType<typeof openVerifier>,
): Pick<BlobStore, 'open' | 'read' | 'place' | 'hash'> {
  const check = (sha256: string) => (fd: number) => verifier.check(sha256, bytesOf(fd))
  return {
    open: async (sha256, range, isTaken) => streamFile(places.blob(sha256), { range, isTaken, check: check(sha256) }),
    async place(sha256) {
      const stream = await streamFile(places.blob(sha256), { check: check(sha256) })
      stream.destroy()
      return storedAt(sha256)
    },
    async read(sha256) {
      const bytes = await readFile(places.blob(sha256))
      if (hash('sha256', bytes) !== sha256) throw new DamagedBytes(sha256)
      return bytes
    },
    async hash(sha256) {
      const found = await hashOf(await streamFile(places.blob(sha256)))
      if (found !== sha256) verifier.forget(sha256)
      return found
    },
  }
}

/** Paths of the store. Only plain names and whole hashes become paths, so nothing leads out of the root. */
function placesBelow(root: string) {
  const [staging, stored, removed] = [join(root, 'staging'), join(root, 'sha256'), join(root, 'removed')]
  return {
    staging,
    stored,
    removed,
    staged: (name: string) => join(staging, stagedName(name)),
    blob: (sha256: string) => join(stored, storedAt(sha256)),
  }
}

/** Writes beside the final name and renames when all is there, so that a second try never disturbs a reader of the first. */
async function stage(syncs: StagedSyncs, path: string, source: Readable, limit: number): Promise<StoredBytes> {
  const partial = `${path}.${randomUUID()}`
  try {
    const stored = await write(partial, source, limit)
    await rename(partial, path)
    syncs.note(path)
    return stored
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

async function write(path: string, source: Readable, limit: number): Promise<StoredBytes> {
  const measured = measure(source, limit)
  await using file = await open(path, 'wx')
  for await (const chunk of measured.chunks) await file.appendFile(chunk)
  await file.sync()
  return measured.facts()
}

/** Nobody knows the name yet, so nobody reads what is not all there. */
async function stageWhole(syncs: StagedSyncs, path: string, bytes: Buffer): Promise<StoredBytes> {
  try {
    await syncs.write(path, bytes)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return factsOf(bytes)
}

/** Takes staged bytes to their address. When there are none, they may have been taken there before; ENOENT when neither is so. */
async function promote(staged: string, path: string, { stored, lasting }: { stored: string; lasting: Set<string> }): Promise<void> {
  await makeDirectoryBelow(stored, dirname(path), lasting)
  if (!(await moved(staged, path))) {
    // Bytes of long ago must not be collected while they are published again.
    const now = new Date()
    await utimes(path, now, now)
  }
  await syncNames(stored, dirname(path), lasting)
}

/** False when there is nothing to move. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}
