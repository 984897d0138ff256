import { mkdir, statfs, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathPart } from '../../platform/blobs/store.ts'
import type { Config } from '../../platform/config/config.ts'

/** The platform of this process as in the names of archives: `os` such as `linux`, `arch` such as `x64`, `sdkPlatform` such as `linux-x64`. */
export type Platform = { os: string; arch: string; sdkPlatform: string }

const systems: Record<string, string> = { darwin: 'macos', win32: 'windows' }

export function thisPlatform(): Platform {
  const os = systems[process.platform] ?? process.platform
  return { os, arch: process.arch, sdkPlatform: `${os}-${process.arch}` }
}

/** Folder of all SDKs on this machine. */
export const sdkRoot = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'sdks')

/** An attempt to install an SDK. Each attempt has its own folder. */
export type Attempt = { id: string; generation: number }

/** Matches the folder name of an installation attempt: the install's id, a dot and the generation. */
export const attemptForm = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,9})$/

/** Returns the folder of an installation attempt. @throws RangeError for an id or generation that is not a plain file name. */
export const attemptFolder = (config: Pick<Config, 'DATA_DIR'>, { id, generation }: Attempt): string =>
  join(sdkRoot(config), pathPart(`${id}.${generation}`, attemptForm))

/** Returns the free disk space for SDKs, in bytes. */
export async function freeBytes(config: Pick<Config, 'DATA_DIR'>): Promise<number> {
  const root = sdkRoot(config)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(root)
  return bavail * bsize
}

type Settings = Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'>

/** Estimated size of an unpacked SDK as a multiple of its archive size. */
export const unpackedFactor = 4

/** Checks that `bytes` fit on the disk in addition to the reserve (MIN_FREE_BYTES). @throws InstallRejected */
export async function requireSdkSpace(config: Settings, bytes: number): Promise<void> {
  const free = await freeBytes(config)
  if (free >= bytes + config.MIN_FREE_BYTES) return
  throw new InstallRejected(
    `There is not enough free disk space: about ${inMegabytes(bytes + config.MIN_FREE_BYTES)} are needed and ${inMegabytes(free)} are free. Free up disk space, then install the SDK again.`,
  )
}

/** Whether an error means that the volume is full or the disk quota is exceeded. */
export const isOutOfSpace = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

export const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`

/** An install that fails permanently: retrying does not help. The message is shown to administrators. */
export class InstallRejected extends Error {
  override readonly name = 'InstallRejected'
}

/** Name of the file that marks an SDK folder as complete. */
export const markName = 'ready'

/** Lists the installation attempts that have a folder on disk. */
export async function listFolders(config: Pick<Config, 'DATA_DIR'>): Promise<Attempt[]> {
  const names = await readdir(sdkRoot(config)).catch(() => [])
  return names.flatMap((name) => {
    const [, id, generation] = attemptForm.exec(name) ?? []
    return id === undefined ? [] : [{ id, generation: Number(generation) }]
  })
}

/** Deletes the folder of an attempt, first its mark, so that processes stop using the SDK. @throws RangeError for an unsafe id. */
export async function removeSdkFolder(config: Pick<Config, 'DATA_DIR'>, attempt: Attempt): Promise<void> {
  const folder = attemptFolder(config, attempt)
  await rm(join(folder, markName), { force: true })
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

export async function measureFolder(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size
  return bytes
}
