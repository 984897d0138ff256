import { allowedScopes, type Role, type Scope } from './roles.ts'

/** The caller, as stored in the database at the time of the request. */
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
  /** True for a job of the server whose result is public, so that it sees public packages only. */
  seesOnlyPublic?: boolean
}

/** The credential of the request. */
export type Credential = (
  | { kind: 'session'; id: string; provedAt: Date }
  | { kind: 'token'; id: string; scopes: Scope[]; expiresAt: Date | null }
) & {
  /** The only upload that this request may send and finish: its URL has the key of that upload in place of a credential. */
  uploadId?: string
}

/** A caller with the permissions of the credential. */
export type Actor = { viewer: Viewer; scopes: ReadonlySet<Scope> }

/**
 * Returns whether the caller acts as a server administrator. This requires the scope `admin`, which only administrators can hold. An administrator
 * using a token without it acts as an ordinary member.
 */
export const isServerAdmin = ({ scopes }: Pick<Actor, 'scopes'>): boolean => scopes.has('admin')

/** Returns whether the caller acts as the owner of the server: with a session, or a token with the scope `admin`. */
export const isServerOwner = ({ viewer, scopes }: { viewer: Viewer | null; scopes: ReadonlySet<Scope> }): boolean =>
  viewer?.role === 'owner' && scopes.has('admin')

/** Returns whether the credential allows changes. */
export const mayWrite = ({ scopes }: Pick<Actor, 'scopes'>): boolean => scopes.has('write')

/** Returns a hint for administrators whose token lacks the scope `admin`; an empty string for other callers. */
export const adviceForAdmin = ({ viewer, scopes }: Actor): string =>
  allowedScopes(viewer.role).includes('admin') && !scopes.has('admin')
    ? ' As an administrator, you need an access token with the scope "admin" for this.'
    : ''

/** Returns whether the caller may see and change their own sessions, tokens and history: with a session, or a token with the scope `write`. */
export const mayChangeOwnAccount = ({ credential, scopes }: { credential: Credential | null; scopes: ReadonlySet<Scope> }): boolean =>
  credential?.kind === 'session' || scopes.has('write')

/** Returns whether the caller must choose a new password first. Tokens are not affected. */
export const passwordIsDue = ({ viewer, credential }: { viewer: Viewer | null; credential: Credential | null }): boolean =>
  credential?.kind === 'session' && viewer?.mustChangePassword === true
