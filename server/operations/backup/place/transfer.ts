import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { streamFile } from '../../../platform/blobs/file-stream.ts'
import { damaged } from './damaged.ts'
import { writeHashed } from './files.ts'
import { fileKey } from './layout.ts'
import type { BackupPlace, Draft, NamedFile, SnapshotFiles } from './place.ts'
import { scratchFolder } from './scratch.ts'

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
