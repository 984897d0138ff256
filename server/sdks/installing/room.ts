import type { Config } from '../../config/config.ts'
import { freeBytes } from '../platform.ts'
import { InstallRefused } from './refused.ts'

type Settings = Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'>

/** An unpacked SDK takes about this many times what its archive does. */
export const unpackedFactor = 4

/**
 * Refuses what there is no room for: so much has to be free beside what the server keeps for itself (MIN_FREE_BYTES).
 * @throws InstallRefused
 */
export async function requireRoom(config: Settings, bytes: number): Promise<void> {
  const free = await freeBytes(config)
  if (free >= bytes + config.MIN_FREE_BYTES) return
  throw new InstallRefused(
    `There is not enough free disk space: this needs about ${inMegabytes(bytes + config.MIN_FREE_BYTES)}, and ${inMegabytes(free)} are free. Make room, then install it again.`,
  )
}

/** Whether the volume has no space, or the account's share of it is used up. */
export const isOutOfSpace = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

export const inMegabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`
