import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type Attempt, attemptFolder, attemptForm, sdkRoot } from '../platform.ts'
import { markName } from '../ready.ts'

type Settings = Pick<Config, 'DATA_DIR'>

/** Lists the attempts at installs that have a folder. */
export async function listFolders(config: Settings): Promise<Attempt[]> {
  const names = await readdir(sdkRoot(config)).catch(() => [])
  return names.flatMap((name) => {
    const [, id, generation] = attemptForm.exec(name) ?? []
    return id === undefined ? [] : [{ id, generation: Number(generation) }]
  })
}

/**
 * Removes the folder of an attempt: first the mark that it is complete, for those who use it.
 * @throws RangeError for an id that could lead elsewhere.
 */
export async function removeFolder(config: Settings, attempt: Attempt): Promise<void> {
  const folder = attemptFolder(config, attempt)
  await rm(join(folder, markName), { force: true })
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** What a folder takes on the disk, about: the sizes of all files in it, in bytes. */
export async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size
  return bytes
}
