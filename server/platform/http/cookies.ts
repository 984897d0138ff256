import { parseCookie, type SetCookie, stringifySetCookie } from 'cookie'
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noStore } from './caching/conditional.ts'
import { csrfMismatch } from '../../errors.ts'
import { equalSecrets, hmac, type Keys, validKeys } from './keys.ts'
import { isSecure, publicUrl } from './public-url.ts'

/** The cookies: session, its CSRF token, proof of a verified setup code, known browser, which survives signing out, holder of a challenge for a
 * passkey, and browser of a sign-in through a provider. */
const cookies = {
  session: { httpOnly: true },
  csrf: {},
  setup: { httpOnly: true, sameSite: 'strict' },
  device: { httpOnly: true },
  passkey: { httpOnly: true, sameSite: 'strict' },
  oidc: { httpOnly: true },
} satisfies Record<string, Partial<SetCookie>>
type CookieName = keyof typeof cookies

/**
 * Returns what distinguishes the cookies of servers on one host, because cookies do not distinguish ports, and `__Host-` cookies have no path: `_` and
 * eight characters derived from the host, port and path of SERVER_URL. Empty with the default port and without a path.
 */
export function cookieSuffix(serverUrl: string): string {
  const { host, port, pathname } = new URL(serverUrl)
  if (port === '' && pathname === '/') return ''
  return `_${createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 8)}`
}

/** Returns the name of a cookie. The `__Host-` prefix is only valid over https. */
export const cookieName = (cookie: CookieName, serverUrl: string, secure = serverUrl.startsWith('https:')): string =>
  `${secure ? '__Host-' : ''}svc_${cookie}${cookieSuffix(serverUrl)}`

/** Returns the value of a cookie of the request, if any. */
export function readCookie(request: FastifyRequest, cookie: CookieName, serverUrl: string): string | undefined {
  const { cookie: all } = request.headers
  return all === undefined ? undefined : parseCookie(all)[cookieName(cookie, serverUrl, isSecure(request, serverUrl))]
}

/** Sets a cookie of the response, replacing any with the same name. `maxAge` is in seconds. */
export function setCookie(reply: FastifyReply, cookie: CookieName, serverUrl: string, value: string, maxAge: number): void {
  const secure = isSecure(reply.request, serverUrl)
  const name = cookieName(cookie, serverUrl, secure)
  const others = [reply.getHeader('set-cookie') ?? []].flat().filter((other) => !String(other).startsWith(`${name}=`))
  const expired = maxAge === 0 && { expires: new Date(0) }
  const set = stringifySetCookie({ path: '/', sameSite: 'lax', secure, ...cookies[cookie], ...expired, maxAge, name, value })
  reply.removeHeader('set-cookie').header('set-cookie', [...others, set])
}

export const clearCookie = (reply: FastifyReply, cookie: CookieName, serverUrl: string): void => setCookie(reply, cookie, serverUrl, '', 0)

/** Sets the session and CSRF cookies. `maxAge` is in seconds. */
export function setSessionCookies(reply: FastifyReply, serverUrl: string, values: { session: string; csrf: string; maxAge: number }): void {
  reply.header('cache-control', noStore)
  for (const cookie of ['session', 'csrf'] as const) setCookie(reply, cookie, serverUrl, values[cookie], values.maxAge)
}

/** Deletes the session and CSRF cookies. */
export const clearSessionCookies = (reply: FastifyReply, serverUrl: string): void =>
  setSessionCookies(reply, serverUrl, { session: '', csrf: '', maxAge: 0 })

/** Returns the CSRF token of a session: an HMAC of the session id, so that tokens of other sessions are invalid. */
export const csrfToken = (keys: Pick<Keys, 'csrf'>, sessionId: string): string => hmac(keys.csrf, sessionId)

/** Throws if a state-changing request authenticated by a session lacks a valid CSRF token. */
export function requireCsrf(request: FastifyRequest, keys: Keys, sessionId: string): void {
  const given = request.headers['x-csrf-token']
  const isValid = typeof given === 'string' && validKeys(keys).some((valid) => equalSecrets(given, csrfToken(valid, sessionId)))
  if (!isValid) throw csrfMismatch()
}

/** Throws if a page of another site sent the request. Command-line clients send neither header. */
export function rejectForeignOrigin(request: FastifyRequest, serverUrl: string): void {
  const { origin } = request.headers
  const own = publicUrl(request, serverUrl)
  const foreign = origin !== undefined && origin !== new URL(own).origin
  if (foreign || request.headers['sec-fetch-site'] === 'cross-site') {
    throw csrfMismatch(`This request came from another site. Open ${own} and try again there.`)
  }
}
