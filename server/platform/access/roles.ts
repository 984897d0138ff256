import type { Config } from '../config/config.ts'
import type { AddressRange } from '../http/client-address.ts'

/** The four roles, weakest first. Each includes the previous ones. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** Kinds of accounts: people, and programs. */
export const userKinds = ['person', 'service'] as const
export type UserKind = (typeof userKinds)[number]

/**
 * The scopes of tokens, weakest first. Each includes the previous ones. `read`: see and download what the owner of the token can. `write`: also
 * publish, and change what the owner maintains, including the owner's account. `admin`: also administer the server and what others maintain.
 */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

const scopesOfRole: Record<Role, readonly Scope[]> = {
  viewer: ['read'],
  member: ['read', 'write'],
  admin: scopes,
  owner: scopes,
}

/** Returns the scopes that a role allows. */
export const allowedScopes = (role: Role): readonly Scope[] => scopesOfRole[role]

/** Returns the scopes with all scopes that they include: `admin` includes `write`, which includes `read`. */
export const includedScopes = (held: readonly Scope[]): Scope[] => scopes.slice(0, level(held))

/** Returns the current permissions of a credential: its scopes, limited by the current role of its owner. */
export function effectiveScopes(
  viewer: { role: Role },
  credential: { kind: 'session' } | { kind: 'token'; scopes: Scope[] },
): ReadonlySet<Scope> {
  const held = credential.kind === 'token' ? level(credential.scopes) : scopes.length
  return upTo[Math.min(held, scopesOfRole[viewer.role].length)] ?? nothing
}

/** Returns how many scopes the strongest of the given scopes includes, itself included. */
const level = (held: readonly Scope[]): number => held.reduce((highest, scope) => Math.max(highest, scopes.indexOf(scope) + 1), 0)

const nothing: ReadonlySet<Scope> = new Set()
const upTo: readonly ReadonlySet<Scope>[] = [nothing, ...scopes.map((_, index) => new Set(scopes.slice(0, index + 1)))]

/** The caller, as stored in the database at the time of the request. */
export type Viewer = {
  id: string
  email: string
  displayName: string
  kind: UserKind
  role: Role
  isActive: boolean
  mustChangePassword: boolean
  createdAt: Date
  lastLoginAt?: Date | null | undefined
  avatarTag?: string | null | undefined
  /** When the user last signed in through a provider; null without a linked identity. */
  providerSignInAt?: Date | null | undefined
  /** Whether the account has a password. Undefined in database rows, which have the hash. */
  hasPassword?: boolean
  /** True for a job of the server whose result is public, so that it sees public packages only. */
  seesOnlyPublic?: boolean
  /** True for a job of a CI system, which has no account: the id is that of its token (see registry/trusted-publishing). */
  isCiJob?: true
}

/** The credential of the request. */
export type Credential = (
  | { kind: 'session'; id: string; provedAt: Date; way: 'password' | 'provider' | 'passkey'; hasSecondFactor: boolean }
  | { kind: 'token'; id: string; scopes: Scope[]; expiresAt: Date | null }
) & {
  /** The only upload that this request may send and finish: its URL has the key of that upload in place of a credential. */
  uploadId?: string
  /** What a narrowed token or a job of a CI system may do. Undefined for credentials that are limited by their scopes only. */
  narrowing?: Narrowing | undefined
  /** The addresses from which the credential works. Undefined for credentials that work from everywhere. */
  addresses?: readonly AddressRange[] | undefined
}

/** What a narrowed credential may do. */
export const tokenActions = ['read', 'publish', 'retract'] as const
export type TokenAction = (typeof tokenActions)[number]

/** The limits of a narrowed credential, besides its scopes. */
export type Narrowing = {
  actions: ReadonlySet<TokenAction>
  /** Whether the credential may do `action` with this package; null: with every package. */
  covers: ((action: TokenAction, name: string) => boolean) | null
  /** Returns why a package is not covered, as a sentence for the caller. */
  explain?: (action: TokenAction, name: string) => string
  /** Why an action is missing, as a sentence for the caller. */
  hint?: string
}

/** A caller with the permissions of the credential. */
export type Actor = { viewer: Viewer; scopes: ReadonlySet<Scope> }

/** Returns whether the caller acts as a server administrator: with the scope `admin`, which only administrators can hold. */
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

/**
 * Returns whether the caller may see and change their own sessions, tokens and history: with a session, or a token with the scope `write`. Service
 * accounts are managed by others.
 */
export const mayChangeOwnAccount = ({ viewer, credential, scopes }: Caller): boolean =>
  viewer?.kind === 'person' && (credential?.kind === 'session' || scopes.has('write'))

type Caller = { viewer: Pick<Viewer, 'kind'> | null; credential: Credential | null; scopes: ReadonlySet<Scope> }

/** Returns whether an account can sign in with its password: PASSWORD_SIGN_IN can limit that to the owner. */
export const maySignInWithPassword = (
  { role, hasPassword }: { role: Role; hasPassword: boolean },
  { PASSWORD_SIGN_IN: allowed }: Pick<Config, 'PASSWORD_SIGN_IN'>,
): boolean => hasPassword && (allowed === 'all' || role === 'owner')

/** Returns whether the caller must choose a new password first. Only sessions that were started with the password are affected. */
export const passwordIsDue = ({ viewer, credential }: { viewer: Viewer | null; credential: Credential | null }): boolean =>
  credential?.kind === 'session' && credential.way === 'password' && viewer?.mustChangePassword === true
