import type { Context } from './context.ts'
import { isBrowsingOn } from './browsing.ts'

/** Whom an answer is for: people who signed in, who see every package, or anybody, who sees public ones. */
export type Audience = 'members' | 'anybody'

/** Whom the answer to a request is for. That it may be answered at all is checked at the door. */
export const audienceOf = ({ viewer }: Pick<Context, 'viewer'>): Audience => (viewer ? 'members' : 'anybody')

/**
 * Whether somebody who did not sign in may look around. Whoever sends a token that does not work is no such person:
 * they expect to be signed in, and must be told that they are not.
 */
export function mayBrowseAnonymously(context: Context): boolean | Promise<boolean> {
  return context.viewer === null && context.request.headers.authorization === undefined && isBrowsingOn(context)
}
