import { z } from 'zod'
import * as oidc from 'openid-client'
import type { Services } from '../../services.ts'
import { compareClock, requestIssuer } from '../../platform/outbound/issuer.ts'
import { NotFetched, orTemporary, readContent } from '../../platform/outbound/request.ts'
import { isStorable, shown } from '../../platform/outbound/texts.ts'
import type { Provider } from './providers.ts'

/** Codes of failed attempts, which the sign-in page receives as `error`. */
export type AttemptError =
  | 'unknown_provider'
  | 'provider_unreachable'
  | 'provider_failed'
  | 'access_denied'
  | 'invalid_response'
  | 'no_auth_time'
  | 'expired'
  | 'not_linked'
  | 'already_linked'
  | 'account_disabled'
  | 'wrong_identity'
  | 'session_ended'
  | 'invitation_invalid'
  | 'rate_limited'

/** Codes for which the provider, or its configuration, is at fault. */
const faultsOfProvider: ReadonlySet<AttemptError> = new Set(['provider_unreachable', 'provider_failed', 'invalid_response'])

/** An attempt that failed: a code for the page, and for the log and administrators what happened. */
export class AttemptFailure extends Error {
  readonly code: AttemptError
  /** Whether administrators see it as a failure of the provider. What only a browser sent proves nothing about the provider. */
  readonly isFaultOfProvider: boolean
  constructor(
    code: AttemptError,
    message: string = code,
    { cause, isFromBrowser = false }: { cause?: unknown; isFromBrowser?: boolean } = {},
  ) {
    super(shown(message, 500), { cause })
    this.code = code
    this.isFaultOfProvider = faultsOfProvider.has(code) && !isFromBrowser
  }
}

const timeoutSeconds = 10
const maxBytes = 1024 * 1024

type Network = Pick<Services, 'config' | 'stopping' | 'state' | 'now'>
export type Client = oidc.Configuration

/**
 * Reads the provider's metadata, each time: a change of its endpoints or keys then holds at once on all instances.
 * @throws AttemptFailure
 */
export async function openClient(services: Network, provider: Provider): Promise<Client> {
  const { issuer, clientId, clientSecret, hasUnreadableSecret, isFromEnvironment } = provider
  if (hasUnreadableSecret)
    throw new AttemptFailure('provider_failed', 'The stored client secret cannot be decrypted with JWT_SECRET. Enter it again.')
  const url = new URL(issuer)
  const adjust = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])]
  const options = { execute: adjust, timeout: timeoutSeconds, [oidc.customFetch]: fetchThrough(services, url, isFromEnvironment) }
  const secret = clientSecret === null ? {} : { client_secret: clientSecret }
  try {
    const authentication = clientSecret === null ? oidc.None() : authenticateBy(clientSecret)
    const found = await oidc.discovery(url, clientId, secret, authentication, options)
    const client = new oidc.Configuration(checkMetadata(found.serverMetadata(), url), clientId, secret, authentication)
    for (const apply of adjust) apply(client)
    client.timeout = timeoutSeconds
    client[oidc.customFetch] = options[oidc.customFetch]
    return client
  } catch (error) {
    throw explainFailure(error, 'provider_failed')
  }
}

/**
 * Checks the metadata of a provider. Unusable members that a sign-in does not need are left out.
 * @throws AttemptFailure
 */
function checkMetadata(metadata: oidc.ServerMetadata, { protocol }: URL): oidc.ServerMetadata {
  const endpoint = z.string().refine((text) => ['https:', protocol].includes(URL.parse(text)?.protocol ?? ''))
  const texts = z.array(z.string()).optional().catch(undefined)
  const unneeded = { end_session_endpoint: endpoint.optional().catch(undefined), scopes_supported: texts, claims_supported: texts }
  const methods = { code_challenge_methods_supported: texts, token_endpoint_auth_methods_supported: texts }
  const needed = { authorization_endpoint: endpoint, token_endpoint: endpoint, jwks_uri: endpoint, userinfo_endpoint: endpoint.optional() }
  const parsed = z.looseObject({ ...needed, ...unneeded, ...methods }).safeParse(metadata)
  if (parsed.success) return parsed.data as oidc.ServerMetadata
  const name = String(parsed.error.issues[0]?.path[0])
  const problem =
    metadata[name] === undefined ? `has no ${name}` : `has a ${name} that is not a URL with ${protocol === 'http:' ? 'http or ' : ''}https`
  throw new AttemptFailure('provider_failed', `The metadata of the provider ${problem}.`)
}

/** Sends the secret by a method that the provider supports; by default, in the header (OpenID Connect Discovery, section 3). */
function authenticateBy(secret: string): oidc.ClientAuth {
  const [inHeader, inBody] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (supported.includes('client_secret_basic') ? inHeader : inBody)(server, ...rest)
  }
}

/**
 * Sends requests by the rules for issuers. The host of an issuer that the operator configured may have a private address.
 * Redirects are not followed.
 */
function fetchThrough(services: Network, issuer: URL, isOperators: boolean): oidc.CustomFetch {
  const { config, stopping } = services
  return async (url, { method, headers, body, signal }) => {
    const answer = await requestIssuer(config, url, {
      isTrusted: ({ origin }) => isOperators && origin === issuer.origin,
      signal: AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]),
      headers,
      method,
      body: body == null ? undefined : String(body as URLSearchParams),
      maxRedirects: 0,
    })
    compareClock(services, issuer.href, answer)
    const bytes = await orTemporary(url, () => readContent(answer, maxBytes))
    const type = answer.headers['content-type']
    const challenge = answer.headers['www-authenticate']
    const kept = { ...(type !== undefined && { 'content-type': type }), ...(challenge !== undefined && { 'www-authenticate': challenge }) }
    const status = answer.statusCode ?? 502
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(bytes), { status, headers: kept })
  }
}

/** What an attempt expects of its callback. `signedInSince`: earliest time of the sign-in at the provider, in seconds; null for any. */
export type Expected = { nonce: string; verifier: string; state: string; signedInSince: number | null }

export type Claims = Record<string, unknown> & { iss: string; sub: string }
export type Answer = { claims: Claims; idToken: string }

/**
 * Completes an attempt at the provider: checks the callback, exchanges the code, and verifies the ID token with the keys of the provider.
 * @throws AttemptFailure
 */
export async function exchange(client: Client, callback: URL, { nonce, verifier, state, signedInSince }: Expected): Promise<Answer> {
  // The parameters of the callback are checked before the provider is asked.
  let isFromBrowser = true
  const send = client[oidc.customFetch]
  if (send)
    client[oidc.customFetch] = (url, options) => {
      isFromBrowser = false
      return send(url, options)
    }
  try {
    const tokens = await oidc.authorizationCodeGrant(client, callback, {
      expectedNonce: nonce,
      expectedState: state,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const own = tokens.claims()
    if (!own || own.sub.length > 255)
      throw new AttemptFailure('invalid_response', 'The provider sent no ID token, or one with a subject that is too long.')
    if (signedInSince !== null) requireFresh(own.auth_time, signedInSince)
    if (!isStorable(own)) throw unstorable()
    const hasUserInfo = client.serverMetadata().userinfo_endpoint !== undefined
    const more = hasUserInfo ? await oidc.fetchUserInfo(client, tokens.access_token, own.sub) : {}
    if (!isStorable(more)) throw unstorable()
    return { claims: { ...more, ...own }, idToken: tokens.id_token ?? '' }
  } catch (error) {
    throw explainFailure(error, 'invalid_response', isFromBrowser)
  }
}

/** Requires a sign-in at the provider since a time. Providers that never report when a user signed in are not at fault for others. */
function requireFresh(signedInAt: unknown, since: number): void {
  if (signedInAt === undefined)
    throw new AttemptFailure('no_auth_time', 'The ID token has no claim auth_time, so it does not prove a fresh sign-in.')
  if (typeof signedInAt !== 'number' || signedInAt < since)
    throw new AttemptFailure('invalid_response', 'The claim auth_time of the ID token is not the time of a fresh sign-in.', {
      isFromBrowser: true,
    })
}

const unstorable = () => new AttemptFailure('invalid_response', 'The claims contain U+0000 or an unpaired surrogate.')

/** Returns the failure of a request or of a check. `code` is for errors that say nothing else. */
export function explainFailure(error: unknown, code: 'provider_failed' | 'invalid_response', isFromBrowser = false): AttemptFailure {
  if (error instanceof AttemptFailure) return error
  const details = { cause: error, isFromBrowser }
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const isForbidden = cause instanceof NotFetched && cause.isForbidden
    if (isForbidden) return new AttemptFailure('provider_failed', cause.message, details)
    if (cause instanceof NotFetched || cause.name === 'TimeoutError' || cause.name === 'AbortError')
      return new AttemptFailure('provider_unreachable', cause.message, details)
  }
  if (error instanceof oidc.AuthorizationResponseError) {
    const isDenied = error.error === 'access_denied' || error.error === 'login_required'
    return new AttemptFailure(isDenied ? 'access_denied' : 'provider_failed', describe(error.error, error.error_description), details)
  }
  // The code was used before, or has expired, or the browser sent one that the provider did not issue (RFC 6749, section 5.2).
  if (error instanceof oidc.ResponseBodyError)
    return new AttemptFailure(
      error.error === 'invalid_grant' ? 'expired' : 'provider_failed',
      describe(error.error, error.error_description),
      details,
    )
  const messages: string[] = []
  for (let cause: unknown = error; cause instanceof Error && messages.length < 3; cause = cause.cause) messages.push(cause.message)
  return new AttemptFailure(code, [...new Set(messages)].join(': ') || String(error), details)
}

const describe = (error: string, description?: string): string => `The provider answered ${error}${description ? `: ${description}` : ''}`

/**
 * Reads the keys with which the provider signs.
 * @throws AttemptFailure
 */
export async function readKeys(client: Client): Promise<{ keys: Record<string, unknown>[] }> {
  const { jwks_uri: url } = client.serverMetadata()
  const send = client[oidc.customFetch]
  if (url === undefined || !send) throw new AttemptFailure('provider_failed', 'The metadata of the provider has no jwks_uri.')
  try {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000)
    const answer = await send(url, { method: 'GET', headers: { accept: 'application/json' }, body: undefined, redirect: 'manual', signal })
    const parsed = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).safeParse(answer.ok ? await answer.json() : null)
    if (!parsed.success) throw new AttemptFailure('provider_failed', `The keys of the provider cannot be read (status ${answer.status}).`)
    return parsed.data
  } catch (error) {
    throw explainFailure(error, 'provider_failed')
  }
}
