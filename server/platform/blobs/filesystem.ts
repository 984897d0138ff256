import { hash, randomUUID } from 'node:crypto'
import { existsSync, fchmodSync, rmSync, statSync } from 'node:fs'
import { open, opendir, readdir, readFile, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setMode } from '../config/make-folders.ts'
import { makeDirectories, makeDirectoryBelow, syncNames } from './directories.ts'
import { bytesOf, streamFile } from './file-stream.ts'
import { readMarker, writeMarker } from './marker-file.ts'
import { listRemoved, purgeRemoved, restoreRemoved, moveToRemoved } from './filesystem-removed.ts'
import { factsOf, hashOf, measure } from './measured.ts'
import { groupModes, type Modes, privateModes, setModesBelow } from './modes.ts'
import { isHash, stagedName, storedAt } from './names.ts'
import { watchFreeSpace } from './free-space.ts'
import { openStagedSyncs, type StagedSyncs } from './staged-syncs.ts'
import { type BlobStore, DamagedBytes, type StoredBytes } from './store.ts'
import { openVerifier } from './verified-reads.ts'

/**
 * Opens a store below `root`, which is created if necessary. Staged files are in `staging/`, stored files in `sha256/ab/cd/<hash>` and removed files
 * in `removed/`; all are on one volume, so files are moved by renaming. Completed operations survive a power failure. Only the account of the server
 * may read the files; with `groupMayRead`, its group may read the stored files.
 */
export async function openFilesystemBlobs(root: string, { groupMayRead = false } = {}): Promise<BlobStore> {
  const [places, marker] = [placesBelow(root), join(root, 'store-id')]
  const modes = groupMayRead ? groupModes : privateModes
  await makePlaces(root, places, modes)
  const [promoting, lasting] = [new Set<string>(), new Set<string>()]
  const [space, verifier, syncs] = [watchFreeSpace(root), openVerifier(), openStagedSyncs(modes.file)]
  return {
    stage: (name, source, limit) => space.write(async () => stage(syncs, places.staged(name), { source, limit, mode: modes.file })),
    stageWhole: (name, bytes) => space.write(async () => stageWhole(syncs, places.staged(name), bytes)),
    openStaged: async (name) => streamFile(places.staged(name)),
    async promote(name, sha256) {
      promoting.add(sha256)
      try {
        await space.write(async () => {
          await syncs.settle(places.staged(name))
          await promote(places.staged(name), places.blob(sha256), { stored: places.stored, lasting, modes })
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
      promoting.has(sha256) ? null : moveToRemoved(places.blob(sha256), places.removed, sha256, { at, before }),
    listRemoved: () => listRemoved(places.removed),
    restore: (sha256) => space.write(async () => restoreRemoved(places.removed, sha256, places.blob(sha256), modes)),
    purge: (before) => purgeRemoved(places.removed, before),
    collectStaged: (before) => collectStaged(places.staging, before),
    identity: () => readMarker(marker),
    identify: (id, { replace } = { replace: false }) => space.write(() => writeMarker(marker, id, { replace, mode: privateModes.file })),
    check: () => space.check(),
  }
}

/** Creates the folders of a store and sets the permissions of the folders and their content. */
async function makePlaces(root: string, { staging, stored, removed }: ReturnType<typeof placesBelow>, modes: Modes): Promise<void> {
  await makeDirectories([root, stored], modes.folder)
  await makeDirectories([staging, removed], privateModes.folder)
  setMode(root, modes.folder)
  for (const folder of [staging, removed]) setMode(folder, privateModes.folder)
  await setModesBelow(stored, modes)
}

/** Returns the read operations, which verify the content against its hash. */
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

/** Returns the paths of a store. Only valid staging names and complete hashes are accepted, so no path leads outside the root. */
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

/** Writes to a temporary name and renames the complete file, so that a retry never disturbs a reader of the first attempt. */
async function stage(syncs: StagedSyncs, path: string, incoming: Incoming): Promise<StoredBytes> {
  const partial = `${path}.${randomUUID()}`
  try {
    const stored = await write(partial, incoming)
    await rename(partial, path)
    syncs.note(path)
    return stored
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

type Incoming = { source: Readable; limit: number; mode: number }

async function write(path: string, { source, limit, mode }: Incoming): Promise<StoredBytes> {
  const measured = measure(source, limit)
  await using file = await open(path, 'wx', mode)
  fchmodSync(file.fd, mode)
  for await (const chunk of measured.chunks) await file.appendFile(chunk)
  await file.sync()
  return measured.facts()
}

/** Writes directly to the final name. No reader knows the name before the write is complete. */
async function stageWhole(syncs: StagedSyncs, path: string, bytes: Buffer): Promise<StoredBytes> {
  try {
    await syncs.write(path, bytes)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return factsOf(bytes)
}

type Promotion = { stored: string; lasting: Set<string>; modes: Modes }

/**
 * Moves a staged file to its content address. If the staged file is missing, an earlier attempt may have moved it; throws ENOENT if neither file
 * exists.
 */
async function promote(staged: string, path: string, { stored, lasting, modes }: Promotion): Promise<void> {
  await makeDirectoryBelow(stored, dirname(path), lasting, modes.folder)
  if (!(await move(staged, path))) {
    // Update the modification time, so that a collection does not remove an old file that is published again.
    const now = new Date()
    await utimes(path, now, now)
  }
  await syncNames(stored, dirname(path), lasting)
}

/** Moves a file. Returns false if it does not exist. */
async function move(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}

/** Removes staged files written before `before` and returns their number. */
async function collectStaged(staging: string, before: Date): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(staging)) {
    const path = join(staging, name)
    // Synchronous, so that no other code of this process runs between the check and the removal.
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= before.getTime()) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}

/** Lists the stored files. Files whose name is not a SHA-256 are ignored. */
async function* listStored(stored: string): AsyncGenerator<{ sha256: string; bytes: number; storedAt: Date }> {
  for (const prefix of await readdir(stored)) {
    for (const { name, parentPath } of await readdir(join(stored, prefix), { recursive: true, withFileTypes: true })) {
      const facts = isHash(name) ? statSync(join(parentPath, name), { throwIfNoEntry: false }) : undefined
      if (facts) yield { sha256: name, bytes: facts.size, storedAt: facts.mtime }
    }
  }
}
