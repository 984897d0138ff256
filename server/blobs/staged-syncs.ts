import { close, fchmodSync, fsync, open, write } from 'node:fs'
import { open as openHandle, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'

const [openFile, writeFile, syncFile, closeFile] = [promisify(open), promisify(write), promisify(fsync), promisify(close)]

/** How staged bytes reach the disk: it works while the upload is answered and its archive is checked, and is waited for before they are promoted. */
export type StagedSyncs = {
  /** Writes bytes to a new file, which begins to be synced. */
  write(path: string, bytes: Buffer): Promise<void>
  /** Notes that a staged file survives a power cut. */
  note(path: string): void
  /** Waits until the bytes of a staged file survive a power cut. Nothing happens when there is no such file. */
  settle(path: string): Promise<void>
}

/** `mode` is that of the files which it makes. */
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
      // Whoever promotes the bytes hears of it.
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

/** What could not be synced is gone: the system says so once only, and would take the file for whole at the next try. */
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
