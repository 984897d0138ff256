import type { FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import { toDate, type Reads } from '../db/reads.ts'
import { readCookie } from '../http/cookies.ts'
import { hmac, type Keys, sha256, validKeys } from '../http/keys.ts'
import type { Role, Scope, Credential, Viewer } from './roles.ts'
import { isJobSecret, isSecret, secretIn } from './token-secret.ts'
import { splitArchiveName } from '../pub/package-name.ts'

export type Identity = { viewer: Viewer; credential: Credential; lastUsedAt: Date }

type UserRow = {
  user_id: string
  email: string
  display_name: string
  role: Role
  is_active: boolean | number
  must_change_password: boolean | number
  user_created_at: number | Date
  last_login_at: number | Date | null
  avatar_tag: string | null
}
type Moment = number | Date
type TokenRow = UserRow & { id: string; scopes: string; expires_at: Moment | null; last_used_at: Moment | null }
type SessionRow = UserRow & { id: string; expires_at: Moment; last_used_at: Moment; proved_at: Moment }

const userColumns =
  'u.id as user_id, u.email, u.display_name, u.role, u.is_active, u.must_change_password, u.created_at as user_created_at, u.last_login_at, u.avatar_tag'
const tokenBy = (column: 'hash' | 'id') =>
  `select t.id, t.scopes, t.expires_at, t.last_used_at, ${userColumns} from access_tokens t join users u on u.id = t.user_id where t.${column} = ? and t.revoked_at is null`
const sessionBy = (column: 'hash' | 'id') =>
  `select s.id, s.expires_at, s.last_used_at, coalesce(s.proved_at, s.created_at) as proved_at, ${userColumns} from sessions s join users u on u.id = s.user_id where s.${column} = ?`
const [tokenSql, tokenByIdSql, sessionSql, sessionByIdSql] = [tokenBy('hash'), tokenBy('id'), sessionBy('hash'), sessionBy('id')]

/** Time in milliseconds without use after which a session ends: seven days. */
export const sessionIdleMs = 7 * 86_400_000

/**
 * Identifies the caller by Bearer token or session cookie; null for anonymous callers. Costs one hash and one keyed read, or two of each while
 * JWT_SECRET_PREVIOUS is set. If a request has an Authorization header, its cookie is ignored.
 */
export async function authenticate(
  request: FastifyRequest,
  reads: Reads,
  keys: Keys,
  serverUrl: string,
  now: Date,
): Promise<Identity | null> {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const token = tokenIn(request.socket, authorization)
    if (token?.isOfJob) return identityOfJob(request, reads, token.hash, now)
    return token && byToken(await reads.recall<TokenRow>(tokenSql, token.hash), now)
  }
  const cookie = readCookie(request, 'session', serverUrl)
  return cookie ? bySession(await readSession(reads, keys, cookie), now) : null
}

/** Returns the identity of the token or session with this id; null when the credential is revoked or expired, or its owner is disabled. */
export async function identityById(reads: Reads, { kind, id }: Pick<Credential, 'kind' | 'id'>, now: Date): Promise<Identity | null> {
  if (kind === 'token') return byToken(await reads.get<TokenRow>(tokenByIdSql, id), now)
  return bySession(await reads.get<SessionRow>(sessionByIdSql, id), now)
}

/** Reads the session of a cookie that was signed with the current or the previous key. */
async function readSession(reads: Reads, keys: Keys, cookie: string): Promise<SessionRow | undefined> {
  for (const { session } of validKeys(keys)) {
    const row = await reads.recall<SessionRow>(sessionSql, hmac(session, cookie))
    if (row) return row
  }
  return undefined
}

type Token = { hash: string; isOfJob: boolean }

/** Returns the token in an Authorization header, or null. The result is cached per connection, since clients repeat the header. */
function tokenIn(socket: Socket, authorization: string): Token | null {
  const latest = latestTokens.get(socket)
  if (latest?.authorization === authorization) return latest.token
  const secret = secretIn(authorization)
  const isOfJob = isJobSecret(secret)
  const token = isOfJob || isSecret(secret) ? { hash: sha256(secret), isOfJob } : null
  latestTokens.set(socket, { authorization, token })
  return token
}

const latestTokens = new WeakMap<Socket, { authorization: string; token: Token | null }>()

function byToken(row: TokenRow | undefined, now: Date): Identity | null {
  if (!row?.is_active) return null
  let identity = tokenIdentities.get(row)
  if (!identity) tokenIdentities.set(row, (identity = tokenIdentity(row)))
  const { expiresAt } = identity.credential
  return expiresAt && expiresAt <= now ? null : identity
}

function tokenIdentity(row: TokenRow): TokenIdentity {
  const expiresAt = row.expires_at === null ? null : toDate(row.expires_at)
  const credential = { kind: 'token', id: row.id, scopes: row.scopes.split(',') as Scope[], expiresAt } as const
  return { viewer: viewerOf(row), credential, lastUsedAt: toDate(row.last_used_at ?? 0) }
}

type TokenIdentity = Identity & { credential: Extract<Credential, { kind: 'token' }> }

// Cached by row. Reads.recall returns the same object for an unchanged row.
const tokenIdentities = new WeakMap<TokenRow, TokenIdentity>()

function bySession(row: SessionRow | undefined, now: Date): Identity | null {
  if (!row?.is_active) return null
  const lastUsedAt = toDate(row.last_used_at)
  if (toDate(row.expires_at) <= now || lastUsedAt.getTime() + sessionIdleMs <= now.getTime()) return null
  return { viewer: viewerOf(row), credential: { kind: 'session', id: row.id, provedAt: toDate(row.proved_at) }, lastUsedAt }
}

function viewerOf(row: UserRow): Viewer {
  return {
    id: row.user_id,
    email: row.email,
    displayName: row.display_name,
    role: row.role,
    isActive: Boolean(row.is_active),
    mustChangePassword: Boolean(row.must_change_password),
    createdAt: toDate(row.user_created_at),
    lastLoginAt: row.last_login_at === null ? null : toDate(row.last_login_at),
    avatarTag: row.avatar_tag,
  }
}

type JobTokenRow = { id: string; packages: string; is_for_anybody: boolean | number; expires_at: number | Date }

const jobTokenSql = 'select id, packages, is_for_anybody, expires_at from job_tokens where hash = ?'

/** Returns the identity of a background job if it requests a package that its token names, on a route of package clients; otherwise null. */
async function identityOfJob(request: FastifyRequest, reads: Reads, hash: string, now: Date): Promise<Identity | null> {
  const row = await reads.recall<JobTokenRow>(jobTokenSql, hash)
  if (!row || toDate(row.expires_at) <= now) return null
  const name = packageOf(request)
  if (name === null || !row.packages.split(',').includes(name)) return null
  const expiresAt = toDate(row.expires_at)
  const viewer = { ...jobViewer, id: row.id, createdAt: now, seesOnlyPublic: Boolean(row.is_for_anybody) }
  return { viewer, credential: { kind: 'token', id: row.id, scopes: ['read'], expiresAt }, lastUsedAt: now }
}

const jobViewer = { email: '', displayName: 'Analysis', role: 'viewer', isActive: true, mustChangePassword: false } as const

/** The routes that package clients use to resolve and fetch dependencies. */
const packageRoutes = /\/api\/packages\/:pkg(?:\/versions\/:version|\/advisories)?$/
const archiveRoutes = /\/api\/archives\/:file$/

function packageOf({ routeOptions: { url = '' }, params }: FastifyRequest): string | null {
  const { pkg, file } = params as { pkg?: string; file?: string }
  if (packageRoutes.test(url)) return pkg ?? null
  return archiveRoutes.test(url) && file !== undefined ? (splitArchiveName(file)?.name ?? null) : null
}
