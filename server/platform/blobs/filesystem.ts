import { hash } from 'node:crypto'
import { readdir, readFile, rename, rm, statfs, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { diskFull, storageAway } from '../../errors.ts'
import { setMode } from '../config/paths.ts'
import { listSteps, reads, writes } from './disk-calls.ts'
import {
  groupModes,
  makeDirectories,
  makeDirectoryBelow,
  type Modes,
  privateModes,
  readMarker,
  setModesBelow,
  syncNames,
  writeMarker,
} from './durable-files.ts'
import { bytesOf, streamFile, type StreamOptions } from './file-stream.ts'
import { listRemoved, moveToRemoved, purgeRemoved, restoreRemoved, statFile } from './filesystem-removed.ts'
import { hashOf } from './measured.ts'
import { openStaging } from './staging.ts'
import { type BlobStore, DamagedBytes, isHash, storedAt } from './store.ts'
import { openVerifier } from './verified-reads.ts'

/**
 * Opens a store below `root`, which is created if necessary. Staged files are in `staging/`, stored files in `sha256/ab/cd/<hash>` and removed files
 * in `removed/`; all are on one volume, so files are moved by renaming. Completed operations survive a power failure. Only the account of the server
 * may read the files; with `groupMayRead`, its group may read the stored files.
 */
export async function openFilesystemBlobs(root: string, { groupMayRead = false } = {}): Promise<BlobStore> {
  const [stored, removed, marker] = [join(root, 'sha256'), join(root, 'removed'), join(root, 'store-id')]
  const pathOf = (sha256: string) => join(stored, storedAt(sha256))
  const modes = groupMayRead ? groupModes : privateModes
  await makeFolders(root, { stored, hidden: [join(root, 'staging'), removed] }, modes)
  const [promoting, lasting] = [new Set<string>(), new Set<string>()]
  const [space, staging] = [watchFreeSpace(root), openStaging(join(root, 'staging'), modes.file)]
  return {
    stage: (name, source, limit) => space.write(() => staging.stage(name, source, limit)),
    stageWhole: (name, bytes) => space.write(() => staging.stageWhole(name, bytes)),
    openStaged: async (name) => streamFile(staging.pathOf(name), { calls: reads }),
    async promote(name, sha256) {
      promoting.add(sha256)
      try {
        await space.write(async () => {
          await staging.settle(name)
          await promote(staging.pathOf(name), pathOf(sha256), { stored, lasting, modes })
        })
      } finally {
        promoting.delete(sha256)
      }
    },
    discard: async (name) => writes(() => rm(staging.pathOf(name), { force: true })),
    ...readsOf(pathOf),
    link: async () => null,
    has: async (sha256) => (await statFile(pathOf(sha256))) !== null,
    list: () => listStored(stored),
    remove: async (sha256, { at, before = null }) =>
      promoting.has(sha256) ? null : moveToRemoved(pathOf(sha256), removed, sha256, { at, before }),
    listRemoved: () => listRemoved(removed),
    restore: (sha256) => space.write(async () => restoreRemoved(removed, sha256, pathOf(sha256), modes)),
    purge: (before) => purgeRemoved(removed, before),
    collectStaged: (before) => staging.collect(before),
    identity: () => readMarker(marker, reads),
    identify: (id, { replace } = { replace: false }) => space.write(() => writeMarker(marker, id, { replace, mode: privateModes.file })),
    check: () => space.check(),
  }
}

/** Creates the folders of a store and sets the permissions of the folders and their content. Only the server may read the `hidden` ones. */
async function makeFolders(root: string, { stored, hidden }: { stored: string; hidden: string[] }, modes: Modes): Promise<void> {
  await makeDirectories([root, stored], modes.folder)
  await makeDirectories(hidden, privateModes.folder)
  setMode(root, modes.folder)
  for (const folder of hidden) setMode(folder, privateModes.folder)
  await setModesBelow(stored, modes)
}

/** Returns the read operations, which verify the content against its hash. */
function readsOf(pathOf: (sha256: string) => string): Pick<BlobStore, 'open' | 'read' | 'place' | 'hash'> {
  const verifier = openVerifier()
  const check = (sha256: string) => (fd: number) => verifier.check(sha256, bytesOf(reads, fd))
  const open = (sha256: string, options: StreamOptions = {}) => streamFile(pathOf(sha256), { ...options, calls: reads })
  return {
    open: async (sha256, range, isTaken) => open(sha256, { range, isTaken, check: check(sha256) }),
    async place(sha256) {
      const stream = await open(sha256, { check: check(sha256) })
      stream.destroy()
      return storedAt(sha256)
    },
    async read(sha256) {
      const bytes = await reads(() => readFile(pathOf(sha256)))
      if (hash('sha256', bytes) !== sha256) throw new DamagedBytes(sha256)
      return bytes
    },
    async hash(sha256) {
      const found = await hashOf(await open(sha256))
      if (found !== sha256) verifier.forget(sha256)
      return found
    },
  }
}

type Promotion = { stored: string; lasting: Set<string>; modes: Modes }

/**
 * Moves a staged file to its content address. If the staged file is missing, an earlier attempt may have moved it; throws ENOENT if neither file
 * exists.
 */
async function promote(staged: string, path: string, { stored, lasting, modes }: Promotion): Promise<void> {
  // The directory of an earlier archive normally still exists.
  const isMoved = lasting.has(dirname(path)) && (await writes(() => move(staged, path)))
  if (!isMoved) await makeDirectoryBelow(stored, dirname(path), lasting, modes.folder)
  if (!isMoved && !(await writes(() => move(staged, path)))) {
    // Update the modification time, so that a collection does not remove an old file that is published again.
    const now = new Date()
    await writes(() => utimes(path, now, now))
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

/** Lists the stored files. Files whose name is not a SHA-256 are ignored. */
async function* listStored(stored: string): AsyncGenerator<{ sha256: string; bytes: number; storedAt: Date }> {
  for (const prefix of await reads(() => readdir(stored))) {
    const readEntries = () => readdir(join(stored, prefix), { recursive: true, withFileTypes: true })
    for (const { name, parentPath } of await reads(readEntries, { steps: listSteps })) {
      const facts = isHash(name) ? await statFile(join(parentPath, name)) : null
      if (facts) yield { sha256: name, bytes: facts.size, storedAt: facts.mtime }
    }
  }
}

/** Free space below which the volume counts as full. */
const minFreeBytes = 1024 ** 2
/** How long the store reports a full disk after a failed write. Space that is too small for an archive may otherwise look sufficient. */
const fullForMs = 60_000

/** Monitors the free space of the volume that contains `root`. */
function watchFreeSpace(root: string) {
  let fullAt = Number.NEGATIVE_INFINITY
  return {
    /** Runs a write and converts out-of-space and storage failures into errors for clients. @throws ApiError ServiceUnavailable. */
    async write<Result>(work: () => Promise<Result>): Promise<Result> {
      try {
        const result = await work()
        fullAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isAway(error)) throw storageAway(error)
        if (!isOutOfSpace(error)) throw error
        fullAt = performance.now()
        throw diskFull()
      }
    },
    /** @throws ApiError ServiceUnavailable if the volume is full. @throws Error if the folder is not accessible. */
    async check(): Promise<void> {
      await reads(() => readdir(root))
      if (performance.now() - fullAt < fullForMs || (await isFull(root))) throw diskFull()
    },
  }
}

/** Returns whether the folders are missing, as with an unmounted volume, or the disk fails. */
const isAway = (error: unknown) => ['ENOENT', 'EIO', 'EROFS', 'ESTALE', 'ENOTCONN'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Returns whether the volume is full or the account's quota is exceeded. */
const isOutOfSpace = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Returns whether the volume is full. File systems that do not count blocks or files report zero for both values. */
async function isFull(root: string): Promise<boolean> {
  const { blocks, bavail, bsize, files, ffree } = await reads(() => statfs(root))
  return (blocks > 0 && bavail * bsize < minFreeBytes) || (files > 0 && ffree === 0)
}
