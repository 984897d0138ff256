import type { Role } from '../roles/roles.ts'
import { type Actor, type Credential, isServerAdmin, mayChangeOwnAccount, type Viewer } from '../roles/viewer.ts'
import type { User } from './entity.ts'

// Who does what with an account. Both doors call these rules, and the `viewerCan…` fields show what they say.

type Caller = Pick<Actor, 'scopes'> & { viewer: Pick<Viewer, 'id'> | null }
type Identified = { id: string }
type Account = Identified & { role: Role }

/** Whether it is the caller's own account. */
export const isOneself = ({ viewer }: Pick<Caller, 'viewer'>, { id }: Identified): boolean => viewer?.id === id

/** Everybody sees their own sessions, tokens, memberships, packages and history, and server admins see everybody's. */
export const canSeeBelongings = (caller: Caller, account: Identified): boolean => isServerAdmin(caller) || isOneself(caller, account)

/** The scope that a field of such things asks for: one's own take a session, or a token that may write. */
export const belongingsScope = (account: Identified, caller: Pick<Caller, 'viewer'>): { ownAccount: true } | { signedIn: true } =>
  isOneself(caller, account) ? { ownAccount: true } : { signedIn: true }

/** The same as a condition on what belongs to a `user`; null when the caller sees nobody's. */
export function belongingsSeen(caller: Caller & { credential: Credential | null }): { user?: string } | null {
  if (isServerAdmin(caller)) return {}
  return caller.viewer && mayChangeOwnAccount(caller) ? { user: caller.viewer.id } : null
}

/** Nobody edits, resets, disables or deletes the owner, nor ends their sessions: the ownership is transferred instead. */
export const isOutOfReach = ({ role }: Pick<Account, 'role'>): boolean => role === 'owner'

/** Server admins change somebody's name, and end their sessions and tokens. */
export const canEdit = (caller: Caller, account: Account): boolean => isServerAdmin(caller) && !isOutOfReach(account)

/** They change role and activity, reset the password and delete the account, too: never their own. */
export const canChangeAccess = (caller: Caller, account: Account): boolean => canEdit(caller, account) && !isOneself(caller, account)

/** The owner hands the server to an active administrator. */
export const canBecomeOwner = ({ role, isActive, passwordHash }: Pick<User, 'role' | 'isActive' | 'passwordHash'>): boolean =>
  role === 'admin' && isActive && passwordHash != null
