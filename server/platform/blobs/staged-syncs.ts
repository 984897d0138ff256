import { close, fchmodSync, fsync, open, write } from 'node:fs'
import { open as openHandle, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'

const [openFile, writeFile, syncFile, closeFile] = [promisify(open), promisify(write), promisify(fsync), promisify(close)]

/** Syncs staged files in the background while the upload is answered and its archive is validated. Promotion waits for the sync. */
export type StagedSyncs = {
  /** Writes bytes to a new file and starts syncing it. */
  write(path: string, bytes: Buffer): Promise<void>
  /** Records that a staged file is already durable. */
  note(path: string): void
  /** Waits until a staged file is durable. Does nothing if the file does not exist. */
  settle(path: string): Promise<void>
}

/** Creates the background syncs. New files get the permissions `mode`. */
export function openStagedSyncs(mode: number): StagedSyncs {
  const syncs = new LRUCache<string, Promise<void>>({ max: 1000 })
  return {
    async write(path, bytes) {
      const file = await openFile(path, 'wx', mode)
      try {
        fchmodSync(file, mode)
        for (let written = 0; written < bytes.length;) written += (await writeFile(file, bytes, written)).bytesWritten
      } catch (error) {
        await closeFile(file)
        throw error
      }
      const sync = syncAndClose(file, path)
      // A failure is reported when the file is promoted.
      sync.catch(() => {})
      syncs.set(path, sync)
    },
    note: (path) => void syncs.set(path, Promise.resolve()),
    async settle(path) {
      await (syncs.get(path) ?? syncByPath(path))
      syncs.delete(path)
    },
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
  if (!file) return
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
