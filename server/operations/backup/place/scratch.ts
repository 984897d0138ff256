import { existsSync, renameSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isLocked, lockSqlite, makeFolder } from '../../../platform/db/location/files.ts'

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
