import { randomUUID } from 'node:crypto'
import { fchmod, fsync, rmSync, statSync, write } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { closeFile, listSteps, openFile, reads, requireResponse, syncSteps, writes } from './disk-calls.ts'
import { statFile } from './filesystem-removed.ts'
import { measureBuffer, measure } from './measured.ts'
import { stagedName, type StoredBytes } from './store.ts'

const [setFileMode, writeFile, syncFile] = [promisify(fchmod), promisify(write), promisify(fsync)]

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
      return measureBuffer(bytes)
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
    const file = await openFile(writes, partial, 'wx', mode)
    try {
      await writes(() => setFileMode(file, mode))
      for await (const chunk of measured.chunks) await writeFully(file, chunk)
      await writes(() => syncFile(file), { steps: syncSteps })
    } finally {
      await closeFile(writes, file)
    }
    await writes(() => rename(partial, path))
    return measured.facts()
  } catch (error) {
    await removeFile(partial)
    throw error
  }
}

/** Removes staged files written before `before` and returns their number. */
async function collect(folder: string, before: Date): Promise<number> {
  let removed = 0
  for (const name of await reads(() => readdir(folder), { steps: listSteps })) {
    const path = join(folder, name)
    if (((await statFile(path))?.mtimeMs ?? Infinity) >= before.getTime()) continue
    await requireResponse(folder)
    // Synchronous, so that no other code of this process runs between the check and the removal.
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= before.getTime()) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}

/** Writes a new file and returns its open descriptor. */
async function writeWhole(path: string, bytes: Buffer, mode: number): Promise<number> {
  const file = await openFile(writes, path, 'wx', mode)
  try {
    await writes(() => setFileMode(file, mode))
    await writeFully(file, bytes)
    return file
  } catch (error) {
    await closeFile(writes, file).catch(() => {})
    await removeFile(path)
    throw error
  }
}

async function writeFully(file: number, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const from = written
    written += (await writes(() => writeFile(file, bytes, from))).bytesWritten
  }
}

/** Removes a file after a failure. If the disk does not respond, the file remains until staged files are collected. */
const removeFile = (path: string): Promise<void> => writes(() => rm(path, { force: true })).catch(() => {})

/** Syncs and closes a file, and deletes it on failure: the operating system reports a failed sync only once, and a later sync would succeed. */
async function syncAndClose(file: number, path: string): Promise<void> {
  try {
    await writes(() => syncFile(file), { steps: syncSteps })
  } catch (error) {
    await removeFile(path)
    throw error
  } finally {
    await closeFile(writes, file)
  }
}

async function syncByPath(path: string): Promise<void> {
  const file = await openFile(writes, path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (file === undefined) return
  try {
    await writes(() => syncFile(file), { steps: syncSteps })
  } finally {
    await closeFile(writes, file)
  }
}
