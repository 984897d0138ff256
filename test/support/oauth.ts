import { createHash, randomBytes } from 'node:crypto'
import type { Actor } from '../actor.ts'

export const redirectUri = 'http://127.0.0.1:49152/callback'
export const loginUrl = 'http://localhost:8080/login?redirect='
export const consentUrl = 'http://localhost:8080/oauth/consent?request_id='

/** A verifier and the challenge for it (RFC 7636). */
export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The address that a client opens; a null leaves a parameter out. */
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

/** Opens the consent page; gives the id in its address. `ip` is for whoever does it more often than one address may. */
export async function requestConsent(browser: Actor, parameters: Record<string, string | null> = {}, ip = browser.ip): Promise<string> {
  const { status, headers } = await browser.get(authorizeUrl(parameters), { ip })
  const location = String(headers.location)
  if (status !== 302 || !location.startsWith(consentUrl)) throw new Error(`No consent page: ${status} ${location}`)
  return location.slice(consentUrl.length)
}

/** Goes as far as a code that nobody has used; gives all that a client sends for its token. */
export async function codeFor(browser: Actor, parameters: Record<string, string | null> = {}, ip = browser.ip) {
  const { verifier, challenge } = pkce()
  const requestId = await requestConsent(browser, { code_challenge: challenge, ...parameters }, ip)
  const { body } = await browser.post('/oauth/approve', { request_id: requestId })
  const code = new URL(body.redirect_url).searchParams.get('code') ?? ''
  return { grant_type: 'authorization_code', code, redirect_uri: parameters.redirect_uri ?? redirectUri, code_verifier: verifier }
}

/** The parameters of the address that a redirect leads to. */
export const parametersOf = (location: unknown) => Object.fromEntries(new URL(String(location)).searchParams)
