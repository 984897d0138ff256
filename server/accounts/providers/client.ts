import { z } from 'zod'
import * as oidc from 'openid-client'
import type { IncomingMessage } from 'node:http'
import type { Services } from '../../services.ts'
import { publicOnly } from '../../platform/outbound/addresses.ts'
import { compareClock, NotFetched, orTemporary, requestUrl } from '../../platform/outbound/request.ts'
import type { Provider } from './providers.ts'

/** Codes of failed rounds, which the sign-in page receives as `error`. */
export type RoundError =
  | 'unknown_provider'
  | 'provider_unreachable'
  | 'provider_failed'
  | 'access_denied'
  | 'invalid_response'
  | 'expired'
  | 'not_linked'
  | 'already_linked'
  | 'account_disabled'
  | 'wrong_identity'
  | 'session_ended'
  | 'invitation_invalid'
  | 'rate_limited'

/** A round that failed: a code for the page, and for the log and administrators what happened. */
export class RoundFailure extends Error {
  readonly code: RoundError
  constructor(code: RoundError, message: string = code, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Codes for which the provider, or its configuration, is at fault. */
export const isFaultOfProvider = (code: RoundError): boolean =>
  code === 'provider_unreachable' || code === 'provider_failed' || code === 'invalid_response'

const timeoutSeconds = 10
const maxBytes = 1024 * 1024

type Network = Pick<Services, 'config' | 'stopping' | 'state' | 'now'>
export type Client = oidc.Configuration

/**
 * Reads the provider's metadata, each time: a change of its endpoints or keys then holds at once on all instances.
 * @throws RoundFailure
 */
export async function openClient(services: Network, provider: Provider): Promise<Client> {
  const { issuer, clientId, clientSecret, hasUnreadableSecret } = provider
  if (hasUnreadableSecret)
    throw new RoundFailure('provider_failed', 'The stored client secret cannot be decrypted with JWT_SECRET. Enter it again.')
  const url = new URL(issuer)
  const adjust = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])]
  const options = { execute: adjust, timeout: timeoutSeconds, [oidc.customFetch]: fetchThrough(services, url) }
  const secret = clientSecret === null ? {} : { client_secret: clientSecret }
  try {
    return await oidc.discovery(url, clientId, secret, clientSecret === null ? oidc.None() : authenticateBy(clientSecret), options)
  } catch (error) {
    throw explainFailure(error, 'provider_failed')
  }
}

/** Sends the secret by a method that the provider supports; by default, in the header (OpenID Connect Discovery, section 3). */
function authenticateBy(secret: string): oidc.ClientAuth {
  const [inHeader, inBody] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (supported.includes('client_secret_basic') ? inHeader : inBody)(server, ...rest)
  }
}

/** Sends requests by the rules for outgoing requests. Only the issuer's own host may have a private address. Redirects are not followed. */
function fetchThrough(services: Network, issuer: URL): oidc.CustomFetch {
  const { config, stopping } = services
  return async (url, { method, headers, body, signal }) => {
    const answer = await requestUrl(url, {
      servers: config.DNS_SERVERS,
      proxies: config,
      isConfigured: ({ host, protocol }) => host === issuer.host && protocol === issuer.protocol,
      isAllowed: publicOnly,
      signal: AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]),
      headers,
      method,
      body: body == null ? undefined : String(body as URLSearchParams),
      maxRedirects: 0,
    })
    compareClock(services, issuer.href, answer)
    const bytes = await orTemporary(url, () => readAll(answer))
    const type = answer.headers['content-type']
    const challenge = answer.headers['www-authenticate']
    const kept = { ...(type !== undefined && { 'content-type': type }), ...(challenge !== undefined && { 'www-authenticate': challenge }) }
    const status = answer.statusCode ?? 502
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(bytes), { status, headers: kept })
  }
}

async function readAll(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new NotFetched(`the response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Checks that the callback belongs to what the round expects, exchanges the code, and verifies the ID token with the keys of the provider. */
export type Expected = { nonce: string; verifier: string; state: string; maxAge: number | null }

export type Claims = Record<string, unknown> & { iss: string; sub: string }
export type Answer = { claims: Claims; idToken: string }

/**
 * Completes a round at the provider.
 * @throws RoundFailure
 */
export async function exchange(client: Client, callback: URL, { nonce, verifier, state, maxAge }: Expected): Promise<Answer> {
  try {
    const tokens = await oidc.authorizationCodeGrant(client, callback, {
      expectedNonce: nonce,
      expectedState: state,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
      ...(maxAge !== null && { maxAge }),
    })
    const own = tokens.claims()
    if (!own || own.sub.length > 255)
      throw new RoundFailure('invalid_response', 'The provider sent no ID token, or one with a subject that is too long.')
    const hasUserInfo = client.serverMetadata().userinfo_endpoint !== undefined
    const more = hasUserInfo ? await oidc.fetchUserInfo(client, tokens.access_token, own.sub) : {}
    return { claims: { ...more, ...own }, idToken: tokens.id_token ?? '' }
  } catch (error) {
    throw explainFailure(error, 'invalid_response')
  }
}

/** Returns the failure of a request or of a check. `code` is for errors that say nothing else. */
export function explainFailure(error: unknown, code: 'provider_failed' | 'invalid_response'): RoundFailure {
  if (error instanceof RoundFailure) return error
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof NotFetched || cause.name === 'TimeoutError' || cause.name === 'AbortError')
      return new RoundFailure('provider_unreachable', cause.message, error)
  if (error instanceof oidc.AuthorizationResponseError) {
    const isDenied = error.error === 'access_denied' || error.error === 'login_required'
    return new RoundFailure(isDenied ? 'access_denied' : 'provider_failed', describe(error.error, error.error_description), error)
  }
  if (error instanceof oidc.ResponseBodyError)
    return new RoundFailure('provider_failed', describe(error.error, error.error_description), error)
  const messages: string[] = []
  for (let cause: unknown = error; cause instanceof Error && messages.length < 3; cause = cause.cause) messages.push(cause.message)
  return new RoundFailure(code, [...new Set(messages)].join(': ') || String(error), error)
}

const describe = (error: string, description?: string): string => `The provider answered ${error}${description ? `: ${description}` : ''}`

/**
 * Reads the keys with which the provider signs.
 * @throws RoundFailure
 */
export async function readKeys(client: Client): Promise<{ keys: Record<string, unknown>[] }> {
  const { jwks_uri: url } = client.serverMetadata()
  const send = client[oidc.customFetch]
  if (url === undefined || !send) throw new RoundFailure('provider_failed', 'The metadata of the provider has no jwks_uri.')
  try {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000)
    const answer = await send(url, { method: 'GET', headers: { accept: 'application/json' }, body: undefined, redirect: 'manual', signal })
    const parsed = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).safeParse(answer.ok ? await answer.json() : null)
    if (!parsed.success) throw new RoundFailure('provider_failed', `The keys of the provider cannot be read (status ${answer.status}).`)
    return parsed.data
  } catch (error) {
    throw explainFailure(error, 'provider_failed')
  }
}
