import { randomUUID } from 'node:crypto'
import { constants, existsSync, lstatSync, statSync } from 'node:fs'
import { lstat, readdir, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { readMarker, syncDirectory, writeMarker } from '../../../platform/blobs/durable-files.ts'
import { streamFile } from '../../../platform/blobs/file-stream.ts'
import { isHash } from '../../../platform/blobs/store.ts'
import { requireCreatable, explainFileError } from '../../../platform/config/paths.ts'
import { isThere, makeFolder } from '../../../platform/db/location/files.ts'
import { conflict } from '../../../errors.ts'
import { damaged, expecting, writeHashed } from './files.ts'
import {
  type BackupPlace,
  type BlobFacts,
  blobKey,
  blobsKey,
  fileKey,
  type Found,
  hashIn,
  type NamedFile,
  ownerKey,
  partialKey,
  type SnapshotFiles,
  snapshotKey,
  snapshotsKey,
} from './place.ts'

/** Opens a backup location in a folder. All files are readable by the current user only. */
export function folderPlace(root: string): BackupPlace {
  const pathOf = (key: string) => join(root, key)
  const check = async () => {
    if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === false)
      throw conflict(`${root} is a file. Name a folder for the backups.`)
    if (existsSync(root) && !existsSync(pathOf(snapshotsKey)) && (await readdir(root)).length > 0)
      throw conflict(`${root} has other files. Name an empty folder, or one with backups.`)
  }
  return {
    name: root,
    nameOf: pathOf,
    check: () => explained(root, () => check().then(() => tryWriting(root))),
    inspect: () => explained(root, () => check().then(() => requireCreatable(root))),
    prepare: () =>
      explained(root, async () => {
        await check()
        for (const key of ['', snapshotsKey, blobsKey, partialKey]) makeFolder(pathOf(key))
      }),
    owner: () => readMarker(pathOf(ownerKey)),
    claim: (id) => writeMarker(pathOf(ownerKey), id, { mode: 0o600 }),
    ...readsOf(root),
    ...writesTo(root),
  }
}

function readsOf(root: string): Pick<BackupPlace, 'snapshots' | 'blobs' | 'inventory' | 'find' | 'fetchFiles'> {
  const find = (key: string) => findFile(root, key)
  const snapshots = join(root, snapshotsKey)
  return {
    snapshots: async () => (isThere(snapshots) ? readdir(snapshots) : []),
    blobs: () => storedBlobs(root),
    // Reads and hashes each stored blob instead of comparing sizes only, so that corrupt blobs are copied again.
    inventory:
      () =>
      async ({ sha256, bytes }) =>
        (await hashIn({ find }, blobKey(sha256), bytes)) === sha256,
    find,
    fetchFiles: async (id, files) => filesIn(root, id, files),
  }
}

function writesTo(root: string): Pick<BackupPlace, 'clear' | 'put' | 'remove' | 'flush' | 'draft'> {
  const [pathOf, partials] = [(key: string) => join(root, key), join(root, partialKey)]
  /** Folders whose new or removed entries are not yet synced to disk. */
  const touched = new Set<string>()
  return {
    async clear() {
      for (const name of await readdir(partials)) await rm(join(partials, name), { force: true })
    },
    async put(key, source, expected) {
      const [partial, path] = [join(partials, randomUUID()), pathOf(key)]
      try {
        await writeHashed(partial, expecting(source, expected))
        makeFolder(dirname(path))
        if (!(await isWithoutLinks(root, dirname(path))))
          throw conflict(`${dirname(path)} is a symbolic link or inside of one. Links are not followed.`)
        await rename(partial, path)
      } finally {
        source.destroy()
        await rm(partial, { force: true })
      }
      touched.add(dirname(path))
    },
    async remove(key) {
      await rm(pathOf(key), { recursive: true, force: true })
      touched.add(dirname(pathOf(key)))
    },
    async flush() {
      await syncAll(root, touched)
      touched.clear()
    },
    async draft(id) {
      const folder = pathOf(snapshotKey(id))
      makeFolder(folder)
      return { folder, keep: async () => void touched.add(folder), [Symbol.asyncDispose]: async () => {} }
    },
  }
}

function filesIn(root: string, id: string, files: readonly NamedFile[]): SnapshotFiles {
  const path = (name: string) => join(root, fileKey(id, name))
  const sizes = new Map(files.map(({ name, bytes }) => [name, bytes]))
  const find = (key: string) => findFile(root, key)
  return {
    path,
    nameOf: path,
    async *read(name) {
      const found = await find(fileKey(id, name))
      if (!found || found.bytes === null || found.bytes !== sizes.get(name)) throw damaged(path(name))
      yield* (await found.read()) as AsyncIterable<Buffer>
    },
    hash: (name) => hashIn({ find }, fileKey(id, name), sizes.get(name)),
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Runs `work` and adds advice to its errors. @throws ApiError Conflict for a problem with the folder. */
async function explained(root: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const reason = error instanceof Error && explainFileError(error, root)
    throw reason ? conflict(`No backup can be made in ${root}: ${reason}`) : error
  }
}

/** Writes and deletes a probe file. @throws Error when the folder is not writable. */
async function tryWriting(root: string): Promise<void> {
  const probe = join(root, `.probe-${randomUUID()}`)
  try {
    await writeHashed(probe, ['probe'])
  } finally {
    await rm(probe, { force: true })
  }
}

/** Flags that open regular files only, even if the file is replaced by a link or pipe between the check and the open. */
const plainOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Finds a regular file. Links are not followed; pipes and devices are not read. */
async function findFile(root: string, key: string): Promise<Found | null> {
  const path = join(root, key)
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (!file) return null
  const isPlain = file.isFile() && (await isWithoutLinks(root, dirname(path)))
  const range = { start: 0, end: file.size - 1 }
  return { bytes: isPlain ? file.size : null, read: () => streamFile(path, { range, flags: plainOnly }) }
}

/** Returns whether no folder between the root and this folder is a symbolic link. The root itself may be one. */
const isWithoutLinks = async (root: string, folder: string): Promise<boolean> =>
  (await realpath(folder)) === join(await realpath(root), relative(root, folder))

/** Syncs existing folders and their parents up to the root, deepest first. An entry is durable once the folder that contains it is synced. */
async function syncAll(root: string, folders: Iterable<string>): Promise<void> {
  const all = new Set([root])
  for (const folder of folders) for (let above = folder; above.length > root.length; above = dirname(above)) all.add(above)
  for (const folder of [...all].toSorted((one, other) => other.length - one.length)) if (existsSync(folder)) await syncDirectory(folder)
}

/** Lists the blobs in order. Files and folders with other names are ignored. */
async function* storedBlobs(root: string): AsyncGenerator<BlobFacts> {
  const foldersIn = async (folder: string) =>
    (await readdir(folder, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
      .map(({ name }) => join(folder, name))
      .toSorted()
  for (const above of await foldersIn(join(root, blobsKey)))
    for (const folder of await foldersIn(above)) {
      const names = (await readdir(folder)).filter((name) => isHash(name))
      for (const sha256 of names.toSorted()) yield { sha256, bytes: (await lstat(join(folder, sha256))).size }
    }
}
