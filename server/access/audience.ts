import type { Context } from './context.ts'
import { isBrowsingOn } from './browsing.ts'

/** Whom an answer is for: people who signed in, who see every package, or anybody, who sees public ones. */
export type Audience = 'members' | 'public'

/** Whom the answer to a request is for. That it may be answered at all is checked at the door. */
export const audienceOf = ({ viewer }: Pick<Context, 'viewer'>): Audience => (viewer && !viewer.seesOnlyPublic ? 'members' : 'public')

/**
 * `Cache-Control` of an answer that `audienceOf` decided about. What members read is kept by nobody else: `ofMembers`. What anybody reads may
 * cease to be public at any moment, so whoever keeps it asks again each time; caches between, after as long as the settings let them.
 */
export function cacheControlOf({ viewer, config }: Pick<Context, 'viewer' | 'config'>, ofMembers: string): string {
  if (viewer) return ofMembers
  const seconds = config.PUBLIC_CACHE_SECONDS
  return seconds === 0 ? 'no-cache' : `public, max-age=0, s-maxage=${seconds}, must-revalidate`
}

/**
 * Whether somebody who did not sign in may look around. Whoever sends a token that does not work is no such person:
 * they expect to be signed in, and must be told that they are not.
 */
export function mayBrowseAnonymously(context: Context): boolean | Promise<boolean> {
  return context.viewer === null && context.request.headers.authorization === undefined && isBrowsingOn(context)
}
