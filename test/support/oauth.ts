import { createHash, randomBytes } from 'node:crypto'
import type { Actor } from '../actor.ts'

export const redirectUri = 'http://127.0.0.1:49152/callback'
export const loginUrl = 'http://localhost:8080/login?redirect='
export const consentUrl = 'http://localhost:8080/oauth/consent?request_id='

/** Returns a code verifier and its challenge (RFC 7636). */
export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Returns the authorization URL of a client. Parameters that are null are omitted. */
export function authorizeUrl(parameters: Record<string, string | null> = {}): string {
  const all = {
    response_type: 'code',
    client_id: 'cli',
    redirect_uri: redirectUri,
    code_challenge: pkce().challenge,
    code_challenge_method: 'S256',
    state: 'a state',
    scope: 'read,write',
    ...parameters,
  }
  return `/oauth/authorize?${new URLSearchParams(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))}`
}

/** Opens the consent page and returns the request id from its URL. Pass other values of `ip` to stay below the rate limit per address. */
export async function requestConsent(browser: Actor, parameters: Record<string, string | null> = {}, ip = browser.ip): Promise<string> {
  const { status, headers } = await browser.get(authorizeUrl(parameters), { ip })
  const location = String(headers.location)
  if (status !== 302 || !location.startsWith(consentUrl)) throw new Error(`No consent page: ${status} ${location}`)
  return location.slice(consentUrl.length)
}

/** Obtains an authorization code and returns the parameters of the token request. */
export async function codeFor(browser: Actor, parameters: Record<string, string | null> = {}, ip = browser.ip) {
  const { verifier, challenge } = pkce()
  const requestId = await requestConsent(browser, { code_challenge: challenge, ...parameters }, ip)
  const { body } = await browser.post('/oauth/approve', { request_id: requestId })
  const code = new URL(body.redirect_url).searchParams.get('code') ?? ''
  return { grant_type: 'authorization_code', code, redirect_uri: parameters.redirect_uri ?? redirectUri, code_verifier: verifier }
}

/** Returns the query parameters of a redirect's Location. */
export const parametersOf = (location: unknown) => Object.fromEntries(new URL(String(location)).searchParams)
