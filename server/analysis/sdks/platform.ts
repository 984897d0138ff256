import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pathPart } from '../../platform/blobs/path-part.ts'
import type { Config } from '../../platform/config/config.ts'

export type Platform = {
  /** Name in archive file names: `linux`, `macos` or `windows`. */
  os: string
  /** Name in archive file names, such as `x64` or `arm64`. */
  arch: string
  /** Operating system and architecture, such as `linux-x64`. */
  sdkPlatform: string
}

const systems: Record<string, string> = { darwin: 'macos', win32: 'windows' }

/** Returns the platform of this process. */
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

/**
 * Returns the folder of an installation attempt.
 * @throws RangeError for an id or generation that is not a plain file name.
 */
export const attemptFolder = (config: Pick<Config, 'DATA_DIR'>, { id, generation }: Attempt): string =>
  join(sdkRoot(config), pathPart(`${id}.${generation}`, attemptForm))

/** Returns the free disk space for SDKs, in bytes. */
export async function freeBytes(config: Pick<Config, 'DATA_DIR'>): Promise<number> {
  const root = sdkRoot(config)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(root)
  return bavail * bsize
}
