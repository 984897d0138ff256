import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { sdkRoot } from '../platform.ts'
import { markName } from '../ready.ts'

type Settings = Pick<Config, 'DATA_DIR'>

/** What lies in the folder of SDKs: the folder of each attempt at an install. */
export type AttemptFolder = { name: string; id: string; generation: number }

const form = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,9})$/

export async function listFolders(config: Settings): Promise<AttemptFolder[]> {
  const names = await readdir(sdkRoot(config)).catch(() => [])
  return names.flatMap((name) => {
    const [, id, generation] = form.exec(name) ?? []
    return id === undefined ? [] : [{ name, id, generation: Number(generation) }]
  })
}

/** Removes a folder from the folder of SDKs: first what says that it is whole, for whoever is using it. */
export async function removeFolder(config: Settings, name: string): Promise<void> {
  const folder = join(sdkRoot(config), name)
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
