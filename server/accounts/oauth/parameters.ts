import { z } from 'zod'
import { type Scope, scopes } from '../../platform/access/roles.ts'

/** The error codes of RFC 6749 §4.1.2.1 and §5.2, and of RFC 8628 §3.5, that this server uses. */
const codes = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
  'unsupported_response_type',
  'temporarily_unavailable',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
] as const
export type OauthErrorCode = (typeof codes)[number]

/** The error response of RFC 6749 §5.2. */
export const oauthErrorSchema = z.object({ error: z.enum(codes), error_description: z.string() })

/** An OAuth error (RFC 6749). The RFC requires the description to be printable ASCII without quotes. */
export class OauthError extends Error {
  readonly code: OauthErrorCode

  constructor(code: OauthErrorCode, description: string) {
    super(description)
    this.name = 'OauthError'
    this.code = code
  }
}

/** Raw request parameters. A repeated parameter has several values. */
export type Parameters = Readonly<Record<string, unknown>>

/** The id of the only client: any command-line program on the user's computer. It has no secret. */
export const clientId = 'cli'

/** The validated parameters of an authorization request. */
export type RequestedAuthorization = { redirectUri: string; state: string; codeChallenge: string; scopes: Scope[] }

/** Returns what is wrong with the client or the redirect URI, otherwise null. Invalid ones must not be redirected to (RFC 6749 §4.1.2.1). */
export function clientFault({ client_id: client, redirect_uri: redirectUri }: Parameters): string | null {
  if (client !== clientId) return 'Unknown client: client_id must be "cli".'
  if (typeof redirectUri !== 'string' || !isLoopbackRedirect(redirectUri)) {
    return 'Invalid redirect_uri: it must be http://localhost, http://127.0.0.1 or http://[::1] with a port.'
  }
  return null
}

/**
 * Reads an authorization request whose client and redirect URI were validated.
 * @throws OauthError that is reported to the client by a redirect.
 */
export function readAuthorization(query: Parameters): RequestedAuthorization {
  const responseType = requiredParameter(query, 'response_type')
  if (responseType !== 'code') throw new OauthError('unsupported_response_type', 'response_type must be code.')
  const codeChallenge = requiredParameter(query, 'code_challenge')
  if (requiredParameter(query, 'code_challenge_method') !== 'S256')
    throw new OauthError('invalid_request', 'code_challenge_method must be S256.')
  if (!/^[\w-]{43}$/.test(codeChallenge))
    throw new OauthError('invalid_request', 'code_challenge must be a SHA-256 in base64url: 43 characters.')
  const state = stateParameter(query)
  if (query.state !== undefined && state === undefined)
    throw new OauthError('invalid_request', 'state must be given once, in at most 1000 printable ASCII characters.')
  return {
    redirectUri: requiredParameter(query, 'redirect_uri'),
    state: state ?? '',
    codeChallenge,
    scopes: readScopes(optional(query, 'scope')),
  }
}

/** Returns the `state` parameter if it can be returned to the client (RFC 6749 appendix A.5). */
export const stateParameter = ({ state }: Parameters): string | undefined =>
  typeof state === 'string' && /^[\x20-\x7e]{1,1000}$/.test(state) ? state : undefined

/** Returns an optional parameter. Empty counts as absent (RFC 6749 §3.1). @throws OauthError when it is repeated. */
export function optional(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw new OauthError('invalid_request', `${name} must be given once.`)
  return value
}

/** Returns a required parameter. @throws OauthError when it is missing or repeated. */
export function requiredParameter(parameters: Parameters, name: string): string {
  const value = optional(parameters, name)
  if (value === undefined) throw new OauthError('invalid_request', `${name} is required.`)
  return value
}

/** Parses scopes separated by commas or spaces, in any case. */
export function readScopes(text = 'read,write'): Scope[] {
  const wanted = text.toLowerCase().split(/[ ,]+/).filter(Boolean)
  if (wanted.length === 0 || wanted.some((scope) => !scopes.includes(scope as Scope)))
    throw new OauthError('invalid_scope', `scope must name one or more of ${scopes.join(', ')}.`)
  return scopes.filter((scope) => wanted.includes(scope))
}

/**
 * Matches the redirect URI of a local client: http on the loopback interface, with a port (RFC 8252 §7.3). The pattern is strict so that no
 * browser or other parser can interpret the URI as a different host.
 */
const loopback =
  /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost):(?<port>[1-9]\d{0,4})(?:\/(?:[\w.~!$&'()*+,;=:@/-]|%[2-9A-Fa-f][\dA-Fa-f])*)?(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[2-9A-Fa-f][\dA-Fa-f])*)?$/

const maxLength = 2000

/** Returns whether a code may be sent to this URI. */
export function isLoopbackRedirect(uri: string): boolean {
  const port = uri.length <= maxLength && loopback.exec(uri)?.groups?.port
  return Boolean(port) && Number(port) <= 65_535
}

/** Adds query parameters to a URI. Undefined parameters are omitted. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${separator}${new URLSearchParams(given)}`
}
