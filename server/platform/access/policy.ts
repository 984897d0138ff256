import type { EntityManager } from '@mikro-orm/sql'
import { allowedScopes, type Scope, isServerOwner, mayChangeOwnAccount, passwordIsDue, type Actor } from './roles.ts'
import { mayBrowseAnonymously } from './audience.ts'
import { type Context, isSignedIn } from './context.ts'

// Rules that depend on the credential only. GraphQL fields express them as scopes of the builder, binary routes as guards.

/** Returns whether the caller is signed in and need not choose a new password or prove a second factor first. */
export const isFreeToAct = (context: Context): boolean => context.viewer !== null && !passwordIsDue(context) && !secondFactorIsDue(context)

type Caller = Pick<Context, 'viewer' | 'credential' | 'config'>

/** Returns whether the server requires a second factor of the session's user (REQUIRE_SECOND_FACTOR). Tokens are not affected. */
export function mustHaveSecondFactor({ viewer, credential, config }: Caller): boolean {
  if (!viewer || credential?.kind !== 'session') return false
  const required = config.REQUIRE_SECOND_FACTOR
  return required === 'all' || (required === 'admins' && allowedScopes(viewer.role).includes('admin'))
}

/** Returns whether the session must prove a second factor, or set one up, before anything else. */
export const secondFactorIsDue = (caller: Caller): boolean =>
  mustHaveSecondFactor(caller) && caller.credential?.kind === 'session' && !caller.credential.hasSecondFactor

/** Returns whether the credential holds this scope and the owner's current role allows it. */
export const holdsScope = (context: Context, scope: Scope): boolean => isFreeToAct(context) && context.scopes.has(scope)

/** Returns whether the caller may change their own account and see its sessions, tokens and history: with a session, or a token with `write`. */
export const canChangeOwnAccount = (context: Context): boolean => isFreeToAct(context) && mayChangeOwnAccount(context)

/** Returns whether the caller may read packages: all when signed in with the scope `read`, public ones if anonymous browsing is enabled. */
export const canBrowse = (context: Context): boolean | Promise<boolean> =>
  context.viewer ? holdsScope(context, 'read') : mayBrowseAnonymously(context)

/** Returns whether the caller acts as the owner of the server. */
export const canActAsOwner = (context: Context): boolean => isFreeToAct(context) && isServerOwner(context)

/** Applies a policy to the caller, for `viewerCan…` fields. False for anonymous callers. */
export async function viewerCan<Thing>(
  context: Context,
  rule: (em: EntityManager, actor: Actor, thing: Thing) => Promise<boolean>,
  thing: Thing,
): Promise<boolean> {
  return isSignedIn(context) && rule(context.em, context, thing)
}
