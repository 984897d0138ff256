import type { Config } from '../../../platform/config/config.ts'
import { freeBytes } from '../platform.ts'
import { InstallRefused } from './refused.ts'

type Settings = Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'>

/** Estimated size of an unpacked SDK as a multiple of its archive size. */
export const unpackedFactor = 4

/**
 * Checks that `bytes` fit on the disk in addition to the reserve that the server keeps free (MIN_FREE_BYTES).
 * @throws InstallRefused when they do not fit.
 */
export async function requireFreeSpace(config: Settings, bytes: number): Promise<void> {
  const free = await freeBytes(config)
  if (free >= bytes + config.MIN_FREE_BYTES) return
  throw new InstallRefused(
    `There is not enough free disk space: about ${inMegabytes(bytes + config.MIN_FREE_BYTES)} are needed and ${inMegabytes(free)} are free. Free up disk space, then install the SDK again.`,
  )
}

/** Whether an error means that the volume is full or the disk quota is exceeded. */
export const isOutOfSpace = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

export const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`
