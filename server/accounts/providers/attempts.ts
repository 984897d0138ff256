import * as oidc from 'openid-client'
import type { Context } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { readCookie, setCookie } from '../../platform/http/cookies.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import type { Services } from '../../services.ts'
import { ApiError, serviceUnavailable } from '../../errors.ts'
import { Session } from '../sessions/entity.ts'
import { openClient, AttemptFailure } from './client.ts'
import { OidcAttempt, type AttemptPurpose as Purpose, UsedLogoutToken } from './entity.ts'
import { type Provider, recordOutcome } from './providers.ts'

/** Time for signing in at the provider. */
const attemptMs = 10 * 60_000

/** What the callback of an attempt needs. */
type Kept = {
  nonce: string
  verifier: string
  redirectUri: string
  /** Path of this server to return to. */
  returnTo: string
  /** Token of the invitation to accept. */
  invite?: string
}

/** What an attempt is for. The result of a test has the form of an attempt, but is not one. */
export type AttemptPurpose = Exclude<Purpose, 'result'>

export type Start = { provider: Provider; purpose: AttemptPurpose; returnTo: string; invite?: string; session?: string }

/** Returns the URL of this server at the provider, to which it sends the browser back. */
export const callbackUrl = ({ request, config }: Pick<Context, 'request' | 'config'>, name: string): string =>
  `${publicUrl(request, config.SERVER_URL)}/auth/oidc/${name}/callback`

/**
 * Starts an attempt: remembers it for this browser, and returns the URL of the provider to send the browser to.
 * @throws AttemptFailure; ApiError RateLimitExceeded.
 */
export async function startAttempt(context: Context, { provider, purpose, returnTo, invite, session }: Start): Promise<string> {
  const { em, config, keys, limits, ip, now, reply, request } = context
  await limits.use('oidc', addressKey(ip))
  const client = await openClient(context, provider).catch((error: unknown) => recordFailure(context, provider.name, error))
  const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
  const redirectUri = callbackUrl(context, provider.name)
  const kept: Kept = { nonce, verifier, redirectUri, returnTo, ...(invite !== undefined && { invite }) }
  const browser = readCookie(request, 'oidc', config.SERVER_URL)
  const secret = browser && /^[\w-]{43}$/.test(browser) ? browser : randomText(32)
  const createdAt = now()
  em.create(OidcAttempt, {
    id: newId(),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + attemptMs),
    stateHash: sha256(state),
    browserHash: sha256(secret),
    provider: provider.name,
    purpose,
    session: session === undefined ? null : em.getReference(Session, session),
    sealed: seal(keys, JSON.stringify(kept)),
  })
  await em.flush()
  setCookie(reply, 'oidc', config.SERVER_URL, secret, attemptMs / 1000)
  const isFresh = purpose === 'proof' || purpose === 'test'
  return oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: provider.scopes,
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(isFresh && { prompt: 'login' }),
    ...(purpose === 'proof' && { max_age: '0' }),
  }).href
}

/** Starts an attempt for a GraphQL mutation. @throws ApiError ServiceUnavailable if the provider cannot be used. */
export async function startAttemptFor(context: Context, start: Start): Promise<string> {
  try {
    return await startAttempt(context, start)
  } catch (error) {
    if (!(error instanceof AttemptFailure)) throw error
    throw serviceUnavailable(`${start.provider.label} cannot be used at the moment: ${sentenceOf(error)} Try again later.`, 30)
  }
}

const sentenceOf = ({ code }: AttemptFailure): string =>
  code === 'provider_unreachable' ? 'it does not answer.' : 'its configuration is not valid. Ask an administrator.'

/** Records a failure for administrators if the provider is at fault, and throws it again. */
export async function recordFailure(context: Context, name: string, error: unknown): Promise<never> {
  if (error instanceof AttemptFailure && error.isFaultOfProvider) await recordOutcome(context, name, error.message)
  throw error
}

export type Attempt = Kept & { state: string; purpose: AttemptPurpose; session: string | null; startedAt: Date; isExpired: boolean }

/**
 * Takes the attempt that a callback belongs to. Each attempt is taken once, only by the browser that started it, and only for its provider. One that has
 * expired is returned too, because it has the page to return to.
 * @throws AttemptFailure `expired`, without saying why.
 */
export async function takeAttempt(context: Context, name: string, state: unknown): Promise<Attempt> {
  const { em, config, keys, request, now } = context
  const browser = readCookie(request, 'oidc', config.SERVER_URL)
  const known =
    typeof state === 'string' && browser !== undefined ? { stateHash: sha256(state), browserHash: sha256(browser), provider: name } : null
  const row = known && (await em.findOne(OidcAttempt, known))
  if (!row || row.purpose === 'result' || (await em.nativeDelete(OidcAttempt, { id: row.id })) === 0) throw new AttemptFailure('expired')
  const text = unseal(keys, row.sealed)
  if (text === null) throw new AttemptFailure('expired')
  return {
    ...(JSON.parse(text) as Kept),
    state: String(state),
    purpose: row.purpose,
    session: row.session?.id ?? null,
    startedAt: row.createdAt,
    isExpired: row.expiresAt <= now(),
  }
}

/** Returns the path to return to, or `fallback` if the text is not a path of this server. */
export function safePath(text: unknown, fallback: string): string {
  // Visible ASCII without backslashes, which browsers treat as slashes.
  if (typeof text !== 'string' || text.length > 1024 || !/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text)) return fallback
  const url = URL.parse(text, 'http://server.invalid')
  // Dot segments can hide a second slash.
  return url?.host === 'server.invalid' && !url.pathname.startsWith('//') ? text : fallback
}

/** Returns the path of the sign-in page, which leads to another page after the sign-in. */
export const loginPath = (returnTo = '/'): string => (returnTo === '/' ? '/login' : withQuery('/login', { redirect: returnTo }))

/** Adds parameters to a path. */
export function withQuery(path: string, parameters: Record<string, string>): string {
  const url = new URL(path, 'http://server.invalid')
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return `${url.pathname}${url.search}${url.hash}`
}

/** Deletes attempts that were not finished, and logout tokens that have expired. */
export async function collectAttempts({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const em = database.fork()
  const expired = { expiresAt: { $lte: now() } }
  return (await em.nativeDelete(OidcAttempt, expired)) + (await em.nativeDelete(UsedLogoutToken, expired))
}

/** Whether an error means that too many attempts were started. */
export const isRateLimited = (error: unknown): boolean => error instanceof ApiError && error.code === 'RateLimitExceeded'
