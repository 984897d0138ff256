import { allowedScopes, type Role, type Scope } from './roles.ts'

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
  /** A job of the server's own whose findings anybody may read, so that it must know no more than that. */
  seesOnlyPublic?: boolean
}

/** How they proved it. */
export type Credential = (
  | { kind: 'session'; id: string; provedAt: Date }
  | { kind: 'token'; id: string; scopes: Scope[]; expiresAt: Date | null }
) & {
  /** The one upload that the request may send and finish: it carries the key of that upload instead of the credential itself. */
  uploadId?: string
}

/** Somebody as their credential lets them act. */
export type Actor = { viewer: Viewer; scopes: ReadonlySet<Scope> }

/**
 * Whether the caller administers the server with this very credential: power over what is not one's own needs the scope `admin`, which only
 * administrators can hold. With a token of less, an administrator acts as an ordinary member.
 */
export const isServerAdmin = ({ scopes }: Pick<Actor, 'scopes'>): boolean => scopes.has('admin')

/** Whether the caller owns the server, and acts as such: with a session, or a token with the scope `admin`. */
export const isServerOwner = ({ viewer, scopes }: { viewer: Viewer | null; scopes: ReadonlySet<Scope> }): boolean =>
  viewer?.role === 'owner' && scopes.has('admin')

/** Whether the credential may change anything. */
export const mayWrite = ({ scopes }: Pick<Actor, 'scopes'>): boolean => scopes.has('write')

/** What to tell an administrator whose token is too weak to act as one; nothing for anybody else. */
export const adviceForAdmin = ({ viewer, scopes }: Actor): string =>
  allowedScopes(viewer.role).includes('admin') && !scopes.has('admin')
    ? ' As an administrator, you need an access token with the scope "admin" for this.'
    : ''

/** Whether the caller may see and change their own sessions, tokens and history: with any session, or a token that may write. */
export const mayChangeOwnAccount = ({ credential, scopes }: { credential: Credential | null; scopes: ReadonlySet<Scope> }): boolean =>
  credential?.kind === 'session' || scopes.has('write')

/** Whether the viewer must choose a new password first; tokens keep working meanwhile. */
export const passwordIsDue = ({ viewer, credential }: { viewer: Viewer | null; credential: Credential | null }): boolean =>
  credential?.kind === 'session' && viewer?.mustChangePassword === true
