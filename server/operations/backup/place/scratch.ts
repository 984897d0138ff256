import { createReadStream, existsSync, renameSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isLocked, lockSqlite, makeFolder } from '../../../platform/db/location/files.ts'
import { addAbortSignal } from 'node:stream'
import { streamFile } from '../../../platform/blobs/file-stream.ts'
import { damaged, writeHashed } from './files.ts'
import { type BackupPlace, type Draft, fileKey, type NamedFile, type SnapshotFiles } from './place.ts'

const prefix = '.backup-'
/** Lock file in each scratch folder, held by the process that uses the folder until the process ends. */
const lockName = 'lock'
/** A process that is killed before it takes the lock leaves an empty folder. After two days such a folder is considered stale. */
const staleMs = 2 * 86_400_000

/** Creates a private folder for snapshot files in transit. Also removes the folders that killed processes left behind. */
export async function scratchFolder(dataDir: string): Promise<AsyncDisposable & { folder: string }> {
  makeFolder(dataDir)
  await sweepScratch(dataDir)
  const folder = await mkdtemp(join(dataDir, prefix))
  const unlock = lockSqlite(join(folder, 'locking'))
  // Rename the lock file only after it is locked, so that other processes never see it unlocked.
  renameSync(join(folder, 'locking'), join(folder, lockName))
  return {
    folder,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
      unlock()
    },
  }
}

/** Removes the scratch folders that killed backup processes left behind. */
export async function sweepScratch(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name)
    if (name.startsWith(prefix) && (await isLeft(path))) await rm(path, { recursive: true, force: true })
  }
}

async function isLeft(folder: string): Promise<boolean> {
  const lock = join(folder, lockName)
  if (existsSync(lock)) return !isLocked(lock)
  const made = await stat(folder).catch(() => null)
  return made !== null && Date.now() - made.mtimeMs > staleMs
}

/** Creates a local folder for a snapshot. `keep` uploads the finished files to a remote backup location. */
export async function draftOf(place: BackupPlace, dataDir: string, id: string): Promise<Draft> {
  const scratch = await scratchFolder(dataDir)
  return {
    ...scratch,
    async keep(files, signal) {
      for (const { name, ...expected } of files)
        await place.put(fileKey(id, name), addAbortSignal(signal, await streamFile(join(scratch.folder, name))), expected)
    },
  }
}

/** Downloads the files of a snapshot from a remote backup location, and records the hash of each. */
export async function downloadFiles(
  place: BackupPlace,
  dataDir: string,
  { id, files }: { id: string; files: readonly NamedFile[] },
): Promise<SnapshotFiles> {
  await using undone = new AsyncDisposableStack()
  const { folder } = undone.use(await scratchFolder(dataDir))
  const hashes = new Map<string, string>()
  for (const { name, bytes } of files) {
    const found = await place.find(fileKey(id, name))
    if (!found) continue
    // Do not download a snapshot file whose size differs from the manifest. The empty hash marks it as corrupt.
    hashes.set(name, found.bytes === bytes ? (await writeHashed(join(folder, name), await found.read())).sha256 : '')
  }
  const scratch = undone.move()
  return {
    path: (name) => join(folder, name),
    async *read(name) {
      if (!hashes.get(name)) throw damaged(place.nameOf(fileKey(id, name)))
      yield* createReadStream(join(folder, name), { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>
    },
    nameOf: (name) => place.nameOf(fileKey(id, name)),
    hash: async (name) => hashes.get(name) ?? null,
    [Symbol.asyncDispose]: () => scratch.disposeAsync(),
  }
}
