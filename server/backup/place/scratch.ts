import { existsSync, renameSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isLocked, lockSqlite } from '../../db/location/lock.ts'
import { makeFolder } from '../../db/location/private-files.ts'

const prefix = '.backup-'
/** In each folder: held by the process that works with it as long as it lives. */
const lockName = 'lock'
/** What was killed before it had the lock leaves an empty folder; nobody takes so long for that. */
const staleMs = 2 * 86_400_000

/** A folder of this account only, for the files of a snapshot that are on their way; those that killed processes left are removed. */
export async function scratchFolder(dataDir: string): Promise<AsyncDisposable & { folder: string }> {
  makeFolder(dataDir)
  await sweepScratch(dataDir)
  const folder = await mkdtemp(join(dataDir, prefix))
  const unlock = lockSqlite(join(folder, 'locking'))
  // Under this name it is held from the beginning.
  renameSync(join(folder, 'locking'), join(folder, lockName))
  return {
    folder,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
      unlock()
    },
  }
}

/** Removes the folders that killed processes left. */
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
