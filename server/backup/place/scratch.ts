import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../db/private-files.ts'

const prefix = '.backup-'
/** Nobody takes so long to bring a snapshot to its place. */
const staleMs = 2 * 86_400_000

/** A folder of this account only, for the files of a snapshot that are on their way; those that killed processes left are removed. */
export async function scratchFolder(dataDir: string): Promise<AsyncDisposable & { folder: string }> {
  makeFolder(dataDir)
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name)
    if (name.startsWith(prefix) && Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Date.now()) > staleMs)
      await rm(path, { recursive: true, force: true })
  }
  const folder = await mkdtemp(join(dataDir, prefix))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
