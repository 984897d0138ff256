import { z } from 'zod'
import type { Services } from '../services.ts'
import { readSetting, type Setting } from '../settings/service.ts'

/** What the server's administrators decided about public packages. */
export type PublicPackagesSwitch = {
  /** Whether public packages may be read without signing in, where the environment permits it. */
  enabled: boolean
  /** Whether only they make packages public or private. */
  requiresServerAdmin: boolean
}

export const publicPackagesSwitch: Setting<PublicPackagesSwitch> = {
  key: 'public_packages',
  schema: z.object({ enabled: z.boolean(), requiresServerAdmin: z.boolean() }),
  initial: { enabled: false, requiresServerAdmin: false },
}

/** Whether public packages can be read without signing in now. Where the environment does not permit it, nothing is read. */
export function isBrowsingOn({ config, database }: Pick<Services, 'config' | 'database'>): boolean | Promise<boolean> {
  if (!config.PUBLIC_PACKAGES_ENABLED) return false
  return readSetting(database.reads, publicPackagesSwitch).then(({ enabled }) => enabled)
}
