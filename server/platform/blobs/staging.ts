import { randomUUID } from 'node:crypto'
import { close, fchmodSync, fsync, open, rmSync, statSync, write } from 'node:fs'
import { open as openHandle, opendir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { factsOf, measure } from './measured.ts'
import { stagedName } from './names.ts'
import type { StoredBytes } from './store.ts'

const [openFile, writeFile, syncFile, closeFile] = [promisify(open), promisify(write), promisify(fsync), promisify(close)]

/** Opens the staging area of a store, whose new files get the permissions `mode`. */
export function openStaging(folder: string, mode: number) {
  const pathOf = (name: string) => join(folder, stagedName(name))
  /** Syncs that run in the background while an upload is answered and its archive is validated. */
  const syncs = new LRUCache<string, Promise<void>>({ max: 1000 })
  return {
    pathOf,
    async stage(name: string, source: Readable, limit: number): Promise<StoredBytes> {
      const stored = await writeRenamed(pathOf(name), source, { limit, mode })
      syncs.set(pathOf(name), Promise.resolve())
      return stored
    },
    /** Writes directly to the final name, which no reader knows before the write is complete, and starts syncing the file. */
    async stageWhole(name: string, bytes: Buffer): Promise<StoredBytes> {
      const path = pathOf(name)
      const sync = syncAndClose(await writeWhole(path, bytes, mode), path)
      // A failure is reported when the file is promoted.
      sync.catch(() => {})
      syncs.set(path, sync)
      return factsOf(bytes)
    },
    /** Waits until a staged file is durable. Does nothing if the file does not exist. */
    async settle(name: string): Promise<void> {
      const path = pathOf(name)
      await (syncs.get(path) ?? syncByPath(path))
      syncs.delete(path)
    },
    collect: (before: Date) => collect(folder, before),
  }
}

/** Writes to a temporary name and renames the complete file, so that a retry never disturbs a reader of the first attempt. */
async function writeRenamed(path: string, source: Readable, { limit, mode }: { limit: number; mode: number }): Promise<StoredBytes> {
  const partial = `${path}.${randomUUID()}`
  const measured = measure(source, limit)
  try {
    {
      await using file = await openHandle(partial, 'wx', mode)
      fchmodSync(file.fd, mode)
      for await (const chunk of measured.chunks) await file.appendFile(chunk)
      await file.sync()
    }
    await rename(partial, path)
    return measured.facts()
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Removes staged files written before `before` and returns their number. */
async function collect(folder: string, before: Date): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(folder)) {
    const path = join(folder, name)
    // Synchronous, so that no other code of this process runs between the check and the removal.
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= before.getTime()) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}

/** Writes a new file and returns its open descriptor. */
async function writeWhole(path: string, bytes: Buffer, mode: number): Promise<number> {
  const file = await openFile(path, 'wx', mode)
  try {
    fchmodSync(file, mode)
    for (let written = 0; written < bytes.length;) written += (await writeFile(file, bytes, written)).bytesWritten
    return file
  } catch (error) {
    await closeFile(file)
    await rm(path, { force: true })
    throw error
  }
}

/** Syncs and closes a file, and deletes it on failure: the operating system reports a failed sync only once, and a later sync would succeed. */
async function syncAndClose(file: number, path: string): Promise<void> {
  try {
    await syncFile(file)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await closeFile(file)
  }
}

async function syncByPath(path: string): Promise<void> {
  const file = await openHandle(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  try {
    await file?.sync()
  } finally {
    await file?.close()
  }
}
