import {
  type Role,
  type Actor,
  type Credential,
  isServerAdmin,
  mayChangeOwnAccount,
  type UserKind,
  type Viewer,
} from '../../platform/access/roles.ts'
import type { User } from './entity.ts'

// Rules for actions on accounts. GraphQL, REST and the `viewerCan…` fields share them.

type Caller = Pick<Actor, 'scopes'> & { viewer: Pick<Viewer, 'id' | 'kind'> | null }
type Identified = { id: string }
type Account = Identified & { kind: UserKind; role: Role }

/** Returns whether an account is the caller's own. */
export const isOneself = ({ viewer }: { viewer: Identified | null }, { id }: Identified): boolean => viewer?.id === id

/**
 * Returns whether the caller may see the sessions, tokens, memberships, packages and history of an account: its user and server administrators may.
 */
export const canSeeBelongings = (caller: Caller, account: Identified): boolean => isServerAdmin(caller) || isOneself(caller, account)

/** Returns the field scope for such data. Reading one's own requires a session or a token with the scope `write`. */
export const belongingsScope = (account: Identified, caller: { viewer: Identified | null }): { ownAccount: true } | { signedIn: true } =>
  isOneself(caller, account) ? { ownAccount: true } : { signedIn: true }

/** Returns the same rule as a condition on rows with a `user`; null if the caller may see none. */
export function visibleBelongings(caller: Caller & { credential: Credential | null }): { user?: string } | null {
  if (isServerAdmin(caller)) return {}
  return caller.viewer && mayChangeOwnAccount(caller) ? { user: caller.viewer.id } : null
}

/** Returns whether the account is protected from administrators. The owner's is; the ownership must be transferred first. */
export const isProtected = ({ role }: Pick<Account, 'role'>): boolean => role === 'owner'

/**
 * Returns whether the caller may change the name of a user and end the user's sessions and tokens: server administrators may. Service accounts have
 * rules of their own, in registry/service-accounts/policy.ts.
 */
export const canEdit = (caller: Caller, account: Account): boolean =>
  isServerAdmin(caller) && !isProtected(account) && account.kind === 'person'

/** Returns whether the caller may also change the role and active state, reset the password and delete the account: never one's own. */
export const canChangeAccess = (caller: Caller, account: Account): boolean => canEdit(caller, account) && !isOneself(caller, account)

type Acceptance = { kind: UserKind; passwordHash?: string | null | undefined; providerSignInAt?: Date | null | undefined }

/**
 * Returns whether an account is complete: it has a password, signs in through a provider, or is a service account. Only database rows can lack all:
 * a viewer has signed in.
 */
export const hasAccepted = ({ kind, passwordHash, providerSignInAt }: Acceptance): boolean =>
  kind === 'service' || passwordHash !== null || providerSignInAt != null

/** Returns whether the ownership can be transferred to this user: only to an active administrator. */
export const canBecomeOwner = ({
  kind,
  role,
  isActive,
  passwordHash,
}: Pick<User, 'kind' | 'role' | 'isActive' | 'passwordHash'>): boolean =>
  kind === 'person' && role === 'admin' && isActive && passwordHash != null
