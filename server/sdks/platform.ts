import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pathPart } from '../blobs/path-part.ts'
import type { Config } from '../config/config.ts'

export type Platform = {
  /** As archives name it: `linux`, `macos` or `windows`. */
  os: string
  /** As archives name it: `x64`, `arm64` and others. */
  arch: string
  /** Both, as an SDK is for: `linux-x64`. */
  sdkPlatform: string
}

const systems: Record<string, string> = { darwin: 'macos', win32: 'windows' }

/** What this process runs on. */
export function thisPlatform(): Platform {
  const os = systems[process.platform] ?? process.platform
  return { os, arch: process.arch, sdkPlatform: `${os}-${process.arch}` }
}

/** Where SDKs are, on this machine. */
export const sdkRoot = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'sdks')

/** One attempt at an install, which has a folder of its own. */
export type Attempt = { id: string; generation: number }

/** The name of the folder of an attempt: its id and generation. */
export const attemptForm = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,9})$/

/**
 * Returns the folder of an attempt at an install.
 * @throws RangeError for an id or a generation that could lead elsewhere.
 */
export const attemptFolder = (config: Pick<Config, 'DATA_DIR'>, { id, generation }: Attempt): string =>
  join(sdkRoot(config), pathPart(`${id}.${generation}`, attemptForm))

/** How much room there is for SDKs, in bytes. */
export async function freeBytes(config: Pick<Config, 'DATA_DIR'>): Promise<number> {
  const root = sdkRoot(config)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const { bavail, bsize } = await statfs(root)
  return bavail * bsize
}
