import type { Scope } from '../roles/roles.ts'
import { isServerOwner, mayChangeOwnAccount, passwordIsDue } from '../roles/viewer.ts'
import { mayBrowseAnonymously } from './audience.ts'
import type { Context } from './context.ts'

// What callers may do by their credential alone. Fields state these as the scopes of the builder, binary routes by the guards.

/** Whether somebody is signed in and free to act: no new password is due. */
export const isFreeToAct = (context: Context): boolean => context.viewer !== null && !passwordIsDue(context)

/** Whether the credential holds this scope, and its owner's role allows it now. */
export const holdsScope = (context: Context, scope: Scope): boolean => isFreeToAct(context) && context.scopes.has(scope)

/** Whether the caller may change their own account, and see its sessions, tokens and history: with any session, or a token that may write. */
export const canChangeOwnAccount = (context: Context): boolean => isFreeToAct(context) && mayChangeOwnAccount(context)

/** Whether the caller may read packages: who signed in every one, with the scope `read`; anybody public ones, where and while the server lets them browse. */
export const canBrowse = (context: Context): boolean | Promise<boolean> =>
  context.viewer ? holdsScope(context, 'read') : mayBrowseAnonymously(context)

/** Whether the caller owns the server, and acts as such. */
export const canActAsOwner = (context: Context): boolean => isFreeToAct(context) && isServerOwner(context)
