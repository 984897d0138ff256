import { z } from 'zod'
import type { Context } from './context.ts'
import type { Services } from '../../services.ts'
import { readSetting, type Setting } from '../settings/service.ts'

/** The audience of a response: `members` are signed in and see every package; `public` is everyone else. */
export type Audience = 'members' | 'public'

/** Returns the audience of the response. Whether the caller has access at all is checked before. */
export const audienceOf = ({ viewer }: Pick<Context, 'viewer'>): Audience => (viewer && !viewer.seesOnlyPublic ? 'members' : 'public')

/**
 * Returns the `Cache-Control` header of a response that depends on the audience. Responses for members use `ofMembers`. Public responses must be
 * revalidated each time, since a package may become private at any time; shared caches may keep them for PUBLIC_CACHE_SECONDS.
 */
export function cacheControlOf({ viewer, config }: Pick<Context, 'viewer' | 'config'>, ofMembers: string): string {
  if (viewer) return ofMembers
  const seconds = config.PUBLIC_CACHE_SECONDS
  return seconds === 0 ? 'no-cache' : `public, max-age=0, s-maxage=${seconds}, must-revalidate`
}

/** Returns whether the caller may browse anonymously; not with an invalid token, whose sender must get an error. */
export function mayBrowseAnonymously(context: Context): boolean | Promise<boolean> {
  return context.viewer === null && context.request.headers.authorization === undefined && isBrowsingOn(context)
}

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
