import type { EntityManager } from '@mikro-orm/sql'
import type { Actor } from '../roles/viewer.ts'
import { type Context, isSignedIn } from './context.ts'

/** Applies a policy to the caller, for `viewerCan…` fields. False for anonymous callers. */
export async function viewerCan<Thing>(
  context: Context,
  rule: (em: EntityManager, actor: Actor, thing: Thing) => Promise<boolean>,
  thing: Thing,
): Promise<boolean> {
  return isSignedIn(context) && rule(context.em, context, thing)
}
