import { z } from 'zod'
import type { Services } from '../../services.ts'
import { readSetting, type Setting } from '../settings/service.ts'

/** The settings for public packages that server administrators control. */
export type PublicPackagesSwitch = {
  /** Whether public packages can be read without signing in, if PUBLIC_PACKAGES_ENABLED allows it. */
  enabled: boolean
  /** Whether only server administrators can make packages public or private. */
  requiresServerAdmin: boolean
}

export const publicPackagesSwitch: Setting<PublicPackagesSwitch> = {
  key: 'public_packages',
  schema: z.object({ enabled: z.boolean(), requiresServerAdmin: z.boolean() }),
  initial: { enabled: false, requiresServerAdmin: false },
}

/** Returns whether public packages can be read without signing in. Reads the setting only if PUBLIC_PACKAGES_ENABLED is set. */
export function isBrowsingOn({ config, database }: Pick<Services, 'config' | 'database'>): boolean | Promise<boolean> {
  if (!config.PUBLIC_PACKAGES_ENABLED) return false
  return readSetting(database.reads, publicPackagesSwitch).then(({ enabled }) => enabled)
}
