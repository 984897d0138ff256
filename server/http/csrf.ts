import type { FastifyRequest } from 'fastify'
import { csrfMismatch } from '../errors.ts'
import { equalSecrets, hmac, type Keys, validKeys } from './keys.ts'
import { publicUrl } from './public-url.ts'

/** The CSRF token of a session: bound to it by HMAC, so that no other session's token fits. */
export const csrfToken = (keys: Pick<Keys, 'csrf'>, sessionId: string): string => hmac(keys.csrf, sessionId)

/** Refuses a state-changing request that rides on a session without its CSRF token. */
export function requireCsrf(request: FastifyRequest, keys: Keys, sessionId: string): void {
  const given = request.headers['x-csrf-token']
  const isValid = typeof given === 'string' && validKeys(keys).some((valid) => equalSecrets(given, csrfToken(valid, sessionId)))
  if (!isValid) throw csrfMismatch()
}

/** Refuses a request that another site's page sent. Command-line clients send none of these headers. */
export function refuseForeignOrigin(request: FastifyRequest, serverUrl: string): void {
  const { origin } = request.headers
  const own = publicUrl(request, serverUrl)
  const foreign = origin !== undefined && origin !== new URL(own).origin
  if (foreign || request.headers['sec-fetch-site'] === 'cross-site') {
    throw csrfMismatch(`This request came from another site. Open ${own} and try again there.`)
  }
}
