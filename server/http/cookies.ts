import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { notStored } from './conditional.ts'

/** Names of the cookies; the `__Host-` prefix is only valid over https. */
export const cookieNames = (secure: boolean) => {
  const prefix = secure ? '__Host-' : ''
  return { session: `${prefix}svc_session`, csrf: `${prefix}svc_csrf`, setup: `${prefix}svc_setup`, device: `${prefix}svc_device` }
}

/** True when the client's side of the connection is https: by SERVER_URL, or by a trusted proxy's word. */
export const isSecure = (request: FastifyRequest, serverUrl: string) => serverUrl.startsWith('https:') || request.protocol === 'https'

/** The session secret that the request carries, if any. */
export const sessionCookie = (request: FastifyRequest, secure: boolean): string | undefined => request.cookies[cookieNames(secure).session]

/** Sets both cookies of a session; `maxAge` in seconds. */
export function setSessionCookies(reply: FastifyReply, secure: boolean, values: { session: string; csrf: string; maxAge: number }): void {
  const names = cookieNames(secure)
  reply.header('cache-control', notStored)
  reply.setCookie(names.session, values.session, { ...attributes(secure), httpOnly: true, maxAge: values.maxAge })
  reply.setCookie(names.csrf, values.csrf, { ...attributes(secure), maxAge: values.maxAge })
}

/** What tells this browser from others to the accounts that it signed in to, if it has that. */
export const deviceCookie = (request: FastifyRequest, secure: boolean): string | undefined => request.cookies[cookieNames(secure).device]

/** Sets the cookie that tells this browser from others; signing out leaves it. `maxAge` in seconds. */
export function setDeviceCookie(reply: FastifyReply, secure: boolean, value: string, maxAge: number): void {
  reply.setCookie(cookieNames(secure).device, value, { ...attributes(secure), httpOnly: true, maxAge })
}

/** Makes the browser forget the cookies of its session. */
export function clearSessionCookies(reply: FastifyReply, secure: boolean): void {
  const names = cookieNames(secure)
  reply.header('cache-control', notStored)
  reply.clearCookie(names.session, { ...attributes(secure), httpOnly: true })
  reply.clearCookie(names.csrf, attributes(secure))
}

/** The one-time secret of the setup that the request carries, if any. */
export const setupCookie = (request: FastifyRequest, secure: boolean): string | undefined => request.cookies[cookieNames(secure).setup]

/** Sets the cookie that proves who verified the setup code; `maxAge` in seconds. */
export function setSetupCookie(reply: FastifyReply, secure: boolean, token: string, maxAge: number): void {
  reply.setCookie(cookieNames(secure).setup, token, { ...attributes(secure), sameSite: 'strict', httpOnly: true, maxAge })
}

/** Makes the browser forget it. */
export function clearSetupCookie(reply: FastifyReply, secure: boolean): void {
  reply.clearCookie(cookieNames(secure).setup, { ...attributes(secure), sameSite: 'strict', httpOnly: true })
}

const attributes = (secure: boolean): CookieSerializeOptions => ({ path: '/', sameSite: 'lax', secure })
