import type { FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import { expressionBuilder, type InferResult } from 'kysely'
import type { Config } from '../config/config.ts'
import { db, prepared, type Tables } from '../db/query.ts'
import type { Reads } from '../db/reads.ts'
import { readCookie } from '../http/cookies.ts'
import { hmac, type Keys, sha256, validKeys } from '../http/keys.ts'
import { type Scope, type Credential, maySignInWithPassword, type Viewer } from './roles.ts'
import { limitsOf } from './token-limits.ts'
import { isJobSecret, isSecret, parseBearerSecret } from './token-secret.ts'
import { splitArchiveName } from '../pub/package-name.ts'
import { ApiError } from '../../errors.ts'
import type { Services } from '../../services.ts'

export type Identity = { viewer: Viewer; credential: Credential; lastUsedAt: Date }

declare module '../../services.ts' {
  interface Services {
    /** Identifies a job of a CI system by its OpenID Connect token. `hash` covers the token and SERVER_URL. @throws ApiError with the reason if the token is not accepted. */
    identifyCiJob: (services: Services, token: string, hash: string, ip: string) => Promise<Identity>
  }
}

/** Why the token of a request is not accepted, if there is more to say than that it is invalid. */
export const tokenRejections = new WeakMap<FastifyRequest, ApiError>()

const userColumns = [
  ...(['u.id as user_id', 'u.email', 'u.display_name', 'u.kind', 'u.role', 'u.is_active', 'u.must_change_password'] as const),
  ...(['u.created_at as user_created_at', 'u.last_login_at', 'u.avatar_tag', 'u.provider_sign_in_at'] as const),
] as const
const hasPassword = expressionBuilder<Tables & { u: Tables['users'] }, 'u'>()('u.password_hash', 'is not', null).as('has_password')
const tokens = db
  .selectFrom('access_tokens as t')
  .innerJoin('users as u', 'u.id', 't.user_id')
  .select(['t.id', 't.scopes', 't.expires_at', 't.last_used_at', 't.actions', 't.packages', 't.addresses', ...userColumns, hasPassword])
  .where('t.revoked_at', 'is', null)
const sessions = db
  .selectFrom('sessions as s')
  .innerJoin('users as u', 'u.id', 's.user_id')
  .select([
    's.id',
    's.created_at',
    's.expires_at',
    's.last_used_at',
    's.proved_at',
    's.way',
    's.has_second_factor',
    ...userColumns,
    hasPassword,
  ])

const tokenOf = prepared((hash: string) => tokens.where('t.hash', '=', hash))
const tokenById = prepared((id: string) => tokens.where('t.id', '=', id))
const tokenOfPrevious = prepared((hash: string) => tokens.select('t.previous_expires_at').where('t.previous_hash', '=', hash))
const sessionOf = prepared((hash: string) => sessions.where('s.hash', '=', hash))
const sessionById = prepared((id: string) => sessions.where('s.id', '=', id))

type TokenRow = Readonly<InferResult<typeof tokens>[number]>
type SessionRow = Readonly<InferResult<typeof sessions>[number]>
type UserRow = Pick<TokenRow, keyof TokenRow & keyof SessionRow>

/** Lifetimes of a session in milliseconds: seven days without use, and at most 30 days. */
export const sessionLifetimes = { idleMs: 7 * 86_400_000, totalMs: 30 * 86_400_000 }

/**
 * Identifies the caller by Bearer token or session cookie; null for anonymous callers. Costs one hash and one keyed read; two reads for a secret
 * before the last rotation, and two of each for a session while JWT_SECRET_PREVIOUS is set. If a request has an Authorization header, its cookie is ignored.
 */
export async function authenticate(request: FastifyRequest, services: Services, now: Date): Promise<Identity | null> {
  const { database, keys, config } = services
  const { reads } = database
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const token = tokenIn(request.socket, authorization, config.SERVER_URL)
    if (token?.isOfJob) return identityOfJob(request, reads, token.hash, now)
    if (token?.jwt !== undefined) return identifyCiJob(request, services, token.jwt, token.hash)
    const row = token ? ((await reads.recall(tokenOf, token.hash)) ?? (await readRotated(reads, token.hash, now))) : undefined
    if (row?.is_active && isIdle(row, config, now)) paused.add(request)
    return byToken(row, config, now)
  }
  const cookie = readCookie(request, 'session', config.SERVER_URL)
  return cookie ? bySession(await readSession(reads, keys, cookie), config, now) : null
}

/** Returns the identity of the token or session with this id; null when the credential is revoked or expired, or its owner is disabled. */
export async function identityById(
  reads: Reads,
  { kind, id }: Pick<Credential, 'kind' | 'id'>,
  config: IdleConfig,
  now: Date,
): Promise<Identity | null> {
  if (kind === 'token') return byToken(await reads.get(tokenById, id), config, now)
  return bySession(await reads.get(sessionById, id), config, now)
}

/** Reads the token whose secret before the last rotation has this hash, while that secret still works. */
async function readRotated(reads: Reads, hash: string, now: Date): Promise<TokenRow | undefined> {
  const row = await reads.recall(tokenOfPrevious, hash)
  return row?.previous_expires_at && row.previous_expires_at > now ? row : undefined
}

type IdleConfig = Pick<Config, 'OIDC_MAX_IDLE_DAYS' | 'PASSWORD_SIGN_IN'>

type IdleRow = Pick<UserRow, 'kind' | 'role' | 'has_password' | 'provider_sign_in_at' | 'last_login_at' | 'user_created_at'>

/**
 * Returns whether the user cannot sign in with a password and has not signed in for too long, and so may have left the company. For users with a
 * linked identity, only sign-ins through a provider count.
 */
export function isIdle(row: IdleRow, config: IdleConfig, now: Date): boolean {
  if (row.kind !== 'person' || maySignInWithPassword({ role: row.role, hasPassword: Boolean(row.has_password) }, config)) return false
  const signInAt = row.provider_sign_in_at ?? row.last_login_at ?? row.user_created_at
  return signInAt.getTime() + config.OIDC_MAX_IDLE_DAYS * 86_400_000 <= now.getTime()
}

const paused = new WeakSet<FastifyRequest>()

/** Returns whether the token of a request is paused until its user signs in through a provider again. */
export const hasPausedToken = (request: FastifyRequest): boolean => paused.has(request)

/** Reads the session of a cookie that was signed with the current or the previous key. */
async function readSession(reads: Reads, keys: Keys, cookie: string): Promise<SessionRow | undefined> {
  for (const { session } of validKeys(keys)) {
    const row = await reads.recall(sessionOf, hmac(session, cookie))
    if (row) return row
  }
  return undefined
}

async function identifyCiJob(request: FastifyRequest, services: Services, token: string, hash: string): Promise<Identity | null> {
  try {
    return await services.identifyCiJob(services, token, hash, request.ip)
  } catch (error) {
    // Endpoints that accept any credential ignore it.
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    tokenRejections.set(request, error)
    return null
  }
}

type Token = { hash: string; isOfJob: boolean; jwt?: string }

/** Returns the token in an Authorization header, or null. The result is cached per connection, since clients repeat the header. */
function tokenIn(socket: Socket, authorization: string, serverUrl: string): Token | null {
  const latest = latestTokens.get(socket)
  if (latest?.authorization === authorization) return latest.token
  const token = parseToken(parseBearerSecret(authorization), serverUrl)
  latestTokens.set(socket, { authorization, token })
  return token
}

function parseToken(secret: string, serverUrl: string): Token | null {
  // The token of a CI job is for one audience, and the database may be restored at another URL: its hash includes the URL.
  if (secret.startsWith('eyJ')) return { hash: sha256(`${serverUrl} ${sha256(secret)}`), isOfJob: false, jwt: secret }
  const isOfJob = isJobSecret(secret)
  return isOfJob || isSecret(secret) ? { hash: sha256(secret), isOfJob } : null
}

const latestTokens = new WeakMap<Socket, { authorization: string; token: Token | null }>()

function byToken(row: TokenRow | undefined, config: IdleConfig, now: Date): Identity | null {
  if (!row?.is_active || isIdle(row, config, now)) return null
  let identity = tokenIdentities.get(row)
  if (!identity) tokenIdentities.set(row, (identity = tokenIdentity(row)))
  const { expiresAt } = identity.credential
  return expiresAt && expiresAt <= now ? null : identity
}

function tokenIdentity(row: TokenRow): TokenIdentity {
  const scopes = row.scopes.split(',') as Scope[]
  const credential = { kind: 'token', id: row.id, scopes, expiresAt: row.expires_at, ...limitsOf(row) } as const
  return { viewer: viewerOf(row), credential, lastUsedAt: row.last_used_at ?? new Date(0) }
}

type TokenIdentity = Identity & { credential: Extract<Credential, { kind: 'token' }> }

// Cached by row. Reads.recall returns the same object for an unchanged row.
const tokenIdentities = new WeakMap<TokenRow, TokenIdentity>()

function bySession(row: SessionRow | undefined, config: IdleConfig, now: Date): Identity | null {
  if (!row?.is_active || isIdle(row, config, now)) return null
  const lastUsedAt = row.last_used_at
  if (row.expires_at <= now || lastUsedAt.getTime() + sessionLifetimes.idleMs <= now.getTime()) return null
  const { id, way, has_second_factor: hasSecondFactor } = row
  return {
    viewer: viewerOf(row),
    credential: { kind: 'session', id, provedAt: row.proved_at ?? row.created_at, way, hasSecondFactor },
    lastUsedAt,
  }
}

function viewerOf(row: UserRow): Viewer {
  return {
    id: row.user_id,
    email: row.email,
    displayName: row.display_name,
    kind: row.kind,
    role: row.role,
    isActive: row.is_active,
    mustChangePassword: row.must_change_password,
    createdAt: row.user_created_at,
    lastLoginAt: row.last_login_at,
    avatarTag: row.avatar_tag,
    providerSignInAt: row.provider_sign_in_at,
    hasPassword: Boolean(row.has_password),
  }
}

const jobTokenOf = prepared((hash: string) =>
  db.selectFrom('job_tokens').select(['id', 'packages', 'is_for_anybody', 'expires_at']).where('hash', '=', hash),
)

/** Returns the identity of a background job if it requests a package that its token names, on a route of package clients; otherwise null. */
async function identityOfJob(request: FastifyRequest, reads: Reads, hash: string, now: Date): Promise<Identity | null> {
  const row = await reads.recall(jobTokenOf, hash)
  if (!row || row.expires_at <= now) return null
  const name = packageOf(request)
  if (name === null || !row.packages.split(',').includes(name)) return null
  const viewer = { ...jobViewer, id: row.id, createdAt: now, seesOnlyPublic: row.is_for_anybody }
  return { viewer, credential: { kind: 'token', id: row.id, scopes: ['read'], expiresAt: row.expires_at }, lastUsedAt: now }
}

const jobViewer = {
  email: '',
  displayName: 'Analysis',
  kind: 'service',
  role: 'viewer',
  isActive: true,
  mustChangePassword: false,
} as const

/** The routes that package clients use to resolve and fetch dependencies. */
const packageRoutes = /\/api\/packages\/:pkg(?:\/versions\/:version|\/advisories)?$/
const archiveRoutes = /\/api\/archives\/:file$/

function packageOf({ routeOptions: { url = '' }, params }: FastifyRequest): string | null {
  const { pkg, file } = params as { pkg?: string; file?: string }
  if (packageRoutes.test(url)) return pkg ?? null
  return archiveRoutes.test(url) && file !== undefined ? (splitArchiveName(file)?.name ?? null) : null
}
