import type { EntityManager } from '@mikro-orm/sql'
import type { Actor } from '../roles/viewer.ts'
import { type Context, isSignedIn } from './context.ts'

/** What a policy says of whoever asks; who did not sign in may nothing. The `viewerCan…` fields answer it. */
export async function viewerCan<Thing>(
  context: Context,
  rule: (em: EntityManager, actor: Actor, thing: Thing) => Promise<boolean>,
  thing: Thing,
): Promise<boolean> {
  return isSignedIn(context) && rule(context.em, context, thing)
}
