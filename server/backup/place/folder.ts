import { randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../../blobs/directories.ts'
import { streamFile } from '../../blobs/file-stream.ts'
import { readMarker, writeMarker } from '../../blobs/marker-file.ts'
import { requireMakeable } from '../../config/make-folders.ts'
import { reasonOf } from '../../config/place-problem.ts'
import { isThere } from '../../db/location/is-there.ts'
import { makeFolder } from '../../db/location/private-files.ts'
import { conflict } from '../../errors.ts'
import { expecting, hashFile, writeHashed } from './files.ts'
import { blobKey, blobsKey, fileKey, ownerKey, partialKey, snapshotKey, snapshotsKey } from './layout.ts'
import { type BackupPlace, type BlobFacts, type Found, hashIn, type NamedFile } from './place.ts'

/** Backups in a folder. What is in it can be read by this account only. */
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
    check: () =>
      explained(root, async () => {
        await check()
        await tryWriting(root)
      }),
    inspect: () =>
      explained(root, async () => {
        await check()
        requireMakeable(root)
      }),
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

function readsOf(root: string): Pick<BackupPlace, 'snapshots' | 'blobs' | 'inventory' | 'find' | 'bring'> {
  const find = async (key: string) => findFile(join(root, key))
  const snapshots = join(root, snapshotsKey)
  return {
    snapshots: async () => (isThere(snapshots) ? readdir(snapshots) : []),
    blobs: () => storedBlobs(root),
    // All bytes are read again: what is damaged there is copied anew.
    inventory:
      () =>
      async ({ sha256 }) =>
        (await hashIn({ find }, blobKey(sha256))) === sha256,
    find,
    bring: async (id) => filesIn((name) => join(root, fileKey(id, name))),
  }
}

function writesTo(root: string): Pick<BackupPlace, 'clear' | 'put' | 'remove' | 'settle' | 'draft'> {
  const [pathOf, partials] = [(key: string) => join(root, key), join(root, partialKey)]
  /** Folders with names that do not last yet. */
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
    async settle() {
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

const filesIn = (path: (name: NamedFile['name']) => string) => ({
  path,
  nameOf: path,
  hash: async (name: string) => (existsSync(path(name)) ? (await hashFile(path(name))).sha256 : null),
  [Symbol.asyncDispose]: async () => {},
})

/** @throws ApiError Conflict for what the system says of the folder alone, with what to do. */
async function explained(root: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const reason = error instanceof Error && reasonOf(error, root)
    throw reason ? conflict(`No backup can be made in ${root}: ${reason}`) : error
  }
}

/** @throws Error when nothing can be written to the folder. */
async function tryWriting(root: string): Promise<void> {
  const probe = join(root, `.probe-${randomUUID()}`)
  try {
    await writeHashed(probe, ['probe'])
  } finally {
    await rm(probe, { force: true })
  }
}

/** Neither pipes nor endless devices are read. */
function findFile(path: string): Found | null {
  const file = statSync(path, { throwIfNoEntry: false })
  if (!file) return null
  return { bytes: file.isFile() ? file.size : null, read: () => streamFile(path) }
}

/** Syncs folders that are there yet, and those above them up to the root: a name lasts once the folder that has it does. */
async function syncAll(root: string, folders: Iterable<string>): Promise<void> {
  const all = new Set([root])
  for (const folder of folders) for (let above = folder; above.length > root.length; above = dirname(above)) all.add(above)
  for (const folder of [...all].toSorted((one, other) => other.length - one.length)) if (existsSync(folder)) await syncDirectory(folder)
}

async function* storedBlobs(root: string): AsyncGenerator<BlobFacts> {
  const namesIn = async (folder: string, form: RegExp) => (await readdir(folder)).filter((name) => form.test(name)).toSorted()
  const blobs = join(root, blobsKey)
  for (const first of await namesIn(blobs, /^[0-9a-f]{2}$/))
    for (const second of await namesIn(join(blobs, first), /^[0-9a-f]{2}$/)) {
      const folder = join(blobs, first, second)
      for (const sha256 of await namesIn(folder, /^[0-9a-f]{64}$/)) yield { sha256, bytes: (await stat(join(folder, sha256))).size }
    }
}
