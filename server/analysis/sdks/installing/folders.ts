import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../../platform/config/config.ts'
import { type Attempt, attemptFolder, attemptForm, sdkRoot } from '../platform.ts'
import { markName } from '../ready.ts'

type Settings = Pick<Config, 'DATA_DIR'>

/** Lists the installation attempts that have a folder on disk. */
export async function listFolders(config: Settings): Promise<Attempt[]> {
  const names = await readdir(sdkRoot(config)).catch(() => [])
  return names.flatMap((name) => {
    const [, id, generation] = attemptForm.exec(name) ?? []
    return id === undefined ? [] : [{ id, generation: Number(generation) }]
  })
}

/**
 * Deletes the folder of an attempt. Deletes the completion mark first, so that other processes stop using the SDK.
 * @throws RangeError for an id that is not a plain file name.
 */
export async function removeFolder(config: Settings, attempt: Attempt): Promise<void> {
  const folder = attemptFolder(config, attempt)
  await rm(join(folder, markName), { force: true })
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** Returns the total size of all files in a folder, in bytes. */
export async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size
  return bytes
}
