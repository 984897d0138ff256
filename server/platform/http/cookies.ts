import { parseCookie, type SetCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noStore } from './caching/conditional.ts'
import { csrfMismatch } from '../../errors.ts'
import { equalSecrets, hmac, type Keys, validKeys } from './keys.ts'
import { publicUrl } from './public-url.ts'

/** Returns the cookie names. The `__Host-` prefix is only valid over https. */
const cookieNames = (secure: boolean) => {
  const prefix = secure ? '__Host-' : ''
  return { session: `${prefix}svc_session`, csrf: `${prefix}svc_csrf`, setup: `${prefix}svc_setup`, device: `${prefix}svc_device` }
}

/** Returns the session secret of the request, if any. */
export const sessionCookie = (request: FastifyRequest, secure: boolean): string | undefined =>
  cookieOf(request, cookieNames(secure).session)

/** Sets the session and CSRF cookies. `maxAge` is in seconds. */
export function setSessionCookies(reply: FastifyReply, secure: boolean, values: { session: string; csrf: string; maxAge: number }): void {
  const names = cookieNames(secure)
  reply.header('cache-control', noStore)
  setCookie(reply, names.session, values.session, { ...attributes(secure), httpOnly: true, maxAge: values.maxAge })
  setCookie(reply, names.csrf, values.csrf, { ...attributes(secure), maxAge: values.maxAge })
}

/** Returns the secret that identifies a browser that has signed in before, if any. */
export const deviceCookie = (request: FastifyRequest, secure: boolean): string | undefined => cookieOf(request, cookieNames(secure).device)

/** Sets the cookie that identifies this browser as a known device. Signing out keeps it. `maxAge` is in seconds. */
export function setDeviceCookie(reply: FastifyReply, secure: boolean, value: string, maxAge: number): void {
  setCookie(reply, cookieNames(secure).device, value, { ...attributes(secure), httpOnly: true, maxAge })
}

/** Deletes the session and CSRF cookies. */
export function clearSessionCookies(reply: FastifyReply, secure: boolean): void {
  const names = cookieNames(secure)
  reply.header('cache-control', noStore)
  clearCookie(reply, names.session, { ...attributes(secure), httpOnly: true })
  clearCookie(reply, names.csrf, attributes(secure))
}

/** Returns the one-time setup secret of the request, if any. */
export const setupCookie = (request: FastifyRequest, secure: boolean): string | undefined => cookieOf(request, cookieNames(secure).setup)

/** Sets the cookie that proves that this browser verified the setup code. `maxAge` is in seconds. */
export function setSetupCookie(reply: FastifyReply, secure: boolean, token: string, maxAge: number): void {
  setCookie(reply, cookieNames(secure).setup, token, { ...attributes(secure), sameSite: 'strict', httpOnly: true, maxAge })
}

/** Deletes the setup cookie. */
export function clearSetupCookie(reply: FastifyReply, secure: boolean): void {
  clearCookie(reply, cookieNames(secure).setup, { ...attributes(secure), sameSite: 'strict', httpOnly: true })
}

type Attributes = Omit<SetCookie, 'name' | 'value'>

const attributes = (secure: boolean): Attributes => ({ path: '/', sameSite: 'lax', secure })

const cookieOf = ({ headers: { cookie } }: FastifyRequest, name: string): string | undefined =>
  cookie === undefined ? undefined : parseCookie(cookie)[name]

/** Adds a cookie to the response, replacing any with the same name. */
function setCookie(reply: FastifyReply, name: string, value: string, given: Attributes): void {
  const others = [reply.getHeader('set-cookie') ?? []].flat().filter((cookie) => !String(cookie).startsWith(`${name}=`))
  reply.removeHeader('set-cookie').header('set-cookie', [...others, stringifySetCookie({ ...given, name, value })])
}

const clearCookie = (reply: FastifyReply, name: string, given: Attributes): void =>
  setCookie(reply, name, '', { ...given, expires: new Date(0), maxAge: 0 })

/** Returns the CSRF token of a session: an HMAC of the session id, so that tokens of other sessions are invalid. */
export const csrfToken = (keys: Pick<Keys, 'csrf'>, sessionId: string): string => hmac(keys.csrf, sessionId)

/** Throws if a state-changing request authenticated by a session lacks a valid CSRF token. */
export function requireCsrf(request: FastifyRequest, keys: Keys, sessionId: string): void {
  const given = request.headers['x-csrf-token']
  const isValid = typeof given === 'string' && validKeys(keys).some((valid) => equalSecrets(given, csrfToken(valid, sessionId)))
  if (!isValid) throw csrfMismatch()
}

/** Throws if a page of another site sent the request. Command-line clients send neither header. */
export function refuseForeignOrigin(request: FastifyRequest, serverUrl: string): void {
  const { origin } = request.headers
  const own = publicUrl(request, serverUrl)
  const foreign = origin !== undefined && origin !== new URL(own).origin
  if (foreign || request.headers['sec-fetch-site'] === 'cross-site') {
    throw csrfMismatch(`This request came from another site. Open ${own} and try again there.`)
  }
}
