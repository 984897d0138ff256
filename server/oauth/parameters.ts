import { type Scope, scopes } from '../roles/roles.ts'
import { OauthError } from './errors.ts'
import { isLoopbackRedirect } from './redirect-uri.ts'

/** The parameters of a request, as they came: a text, or several when one was repeated. */
export type Parameters = Readonly<Record<string, unknown>>

/** The one client: any command-line program on the user's own computer. It has no secret. */
export const clientId = 'cli'

/** What a client wants the user to allow. */
export type RequestedAuthorization = { redirectUri: string; state: string; codeChallenge: string; scopes: Scope[] }

/**
 * What is wrong with who asks and where the answer would go, else null. While this is not settled nobody may be redirected (RFC 6749 §4.1.2.1).
 */
export function clientFault({ client_id: client, redirect_uri: redirectUri }: Parameters): string | null {
  if (client !== clientId) return 'The program that sent you here is not known to this server: client_id must be "cli".'
  if (typeof redirectUri !== 'string' || !isLoopbackRedirect(redirectUri)) {
    return 'The program that sent you here wants the answer sent to a place that is not allowed: redirect_uri must be http://localhost, http://127.0.0.1 or http://[::1] with a port.'
  }
  return null
}

/**
 * Reads an authorization request whose client is settled.
 * @throws OauthError to redirect back with.
 */
export function readAuthorization(query: Parameters): RequestedAuthorization {
  const responseType = required(query, 'response_type')
  if (responseType !== 'code') throw new OauthError('unsupported_response_type', 'response_type must be code.')
  const codeChallenge = required(query, 'code_challenge')
  if (required(query, 'code_challenge_method') !== 'S256') throw new OauthError('invalid_request', 'code_challenge_method must be S256.')
  if (!/^[\w-]{43}$/.test(codeChallenge))
    throw new OauthError('invalid_request', 'code_challenge must be a SHA-256 in base64url: 43 characters.')
  const state = stateOf(query)
  if (query.state !== undefined && state === undefined)
    throw new OauthError('invalid_request', 'state must be given once, in at most 1000 printable ASCII characters.')
  return { redirectUri: required(query, 'redirect_uri'), state: state ?? '', codeChallenge, scopes: readScopes(optional(query, 'scope')) }
}

/** The `state` to send back, when it is one that can be (RFC 6749 appendix A.5). */
export const stateOf = ({ state }: Parameters): string | undefined =>
  typeof state === 'string' && /^[\x20-\x7e]{1,1000}$/.test(state) ? state : undefined

/** A parameter, once, or nothing. An empty one counts as absent (RFC 6749 §3.1). */
export function optional(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw new OauthError('invalid_request', `${name} must be one text.`)
  return value
}

/** A parameter that must be there, once. */
export function required(parameters: Parameters, name: string): string {
  const value = optional(parameters, name)
  if (value === undefined) throw new OauthError('invalid_request', `${name} is required.`)
  return value
}

/** Scopes separated by commas or spaces; without any, those that a token has by default. */
function readScopes(text = 'read,write'): Scope[] {
  const wanted = text.split(/[ ,]+/).filter(Boolean)
  if (wanted.length === 0 || wanted.some((scope) => !scopes.includes(scope as Scope)))
    throw new OauthError('invalid_scope', `scope must name one or more of ${scopes.join(', ')}.`)
  return scopes.filter((scope) => wanted.includes(scope))
}
