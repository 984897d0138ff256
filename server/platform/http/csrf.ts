import type { FastifyRequest } from 'fastify'
import { csrfMismatch } from '../../errors.ts'
import { equalSecrets, hmac, type Keys, validKeys } from './keys.ts'
import { publicUrl } from './public-url.ts'

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
