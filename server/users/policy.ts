import { type Scope, scopes } from '../tokens/entity.ts'
import type { Role } from './entity.ts'

/** Who is asking, as the database knows them at this very request. */
export type Viewer = {
  id: string
  email: string
  displayName: string
  role: Role
  isActive: boolean
  mustChangePassword: boolean
  createdAt: Date
  lastLoginAt?: Date | null | undefined
  avatarTag?: string | null | undefined
}

/** How they proved it. */
export type Credential =
  | { kind: 'session'; id: string; provedAt: Date }
  | { kind: 'token'; id: string; scopes: Scope[]; expiresAt: Date | null }

/** The auth scope for what belongs to an account: one's own takes more than a token that reads packages. Whether others' may be seen is for the resolver. */
export const accountScope = (account: { id: string }, viewer: Pick<Viewer, 'id'> | null): { ownAccount: true } | { signedIn: true } =>
  viewer?.id === account.id ? { ownAccount: true } : { signedIn: true }

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ['read'],
  member: ['read', 'write'],
  admin: scopes,
  owner: scopes,
}

/** The scopes that a role may hold. */
export const allowedScopes = (role: Role): readonly Scope[] => scopesOfRole[role]

/** Scopes with those they include: `admin` includes `write`, `write` includes `read`. */
export const includedScopes = (held: readonly Scope[]): Scope[] => scopes.slice(0, level(held))

/** What a credential may do now: what it holds, within what its owner's role allows at this moment. */
export function effectiveScopes(viewer: Viewer, credential: Credential): ReadonlySet<Scope> {
  const held = credential.kind === 'token' ? level(credential.scopes) : scopes.length
  return upTo[Math.min(held, scopesOfRole[viewer.role].length)] ?? nothing
}

/** How many scopes the strongest of these stands for: each includes the ones before it. */
const level = (held: readonly Scope[]): number => held.reduce((highest, scope) => Math.max(highest, scopes.indexOf(scope) + 1), 0)

const nothing: ReadonlySet<Scope> = new Set()
const upTo: readonly ReadonlySet<Scope>[] = [nothing, ...scopes.map((_, index) => new Set(scopes.slice(0, index + 1)))]

type Caller = { viewer: Pick<Viewer, 'id'> | null; scopes: ReadonlySet<Scope> }
type Account = { id: string; role: Role }

/** Nobody edits, resets, disables or deletes the owner, nor ends their sessions: the ownership is transferred instead. */
export const isOutOfReach = ({ role }: Pick<Account, 'role'>): boolean => role === 'owner'

/** Whether the caller may change somebody's name and password, and end their sessions and tokens. */
export const canEdit = ({ scopes }: Pick<Caller, 'scopes'>, account: Account): boolean => scopes.has('admin') && !isOutOfReach(account)

/** Whether the caller may change somebody's role and activity, or delete the account: never one's own. */
export const canChangeAccess = (caller: Caller, account: Account): boolean => canEdit(caller, account) && caller.viewer?.id !== account.id

/** Somebody as their credential lets them act. */
export type Actor = { viewer: Viewer; scopes: ReadonlySet<Scope> }

/**
 * Whether the caller administers the server with this very credential: power over what is not one's own needs the scope `admin`, which only
 * administrators can hold. With a token of less, an administrator acts as an ordinary member.
 */
export const isServerAdmin = ({ scopes }: Pick<Actor, 'scopes'>): boolean => scopes.has('admin')

/** What to tell an administrator whose token is too weak to act as one; nothing for anybody else. */
export const adviceForAdmin = ({ viewer, scopes }: Actor): string =>
  allowedScopes(viewer.role).includes('admin') && !scopes.has('admin')
    ? ' As an administrator, you need an access token with the scope "admin" for this.'
    : ''

/** Whether the caller may see and change their own sessions, tokens and history: with any session, or a token that may write. */
export const mayChangeOwnAccount = ({ credential, scopes }: { credential: Credential | null; scopes: ReadonlySet<Scope> }): boolean =>
  credential?.kind === 'session' || scopes.has('write')
