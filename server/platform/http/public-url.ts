import type { FastifyRequest } from 'fastify'
import { isSecure } from './cookies.ts'
import type { Log } from './log.ts'

/** Returns SERVER_URL as seen by the client: https if a trusted proxy reports https, even if SERVER_URL uses http. */
export const publicUrl = (request: FastifyRequest, serverUrl: string): string =>
  isSecure(request, serverUrl) ? serverUrl.replace(/^http:/, 'https:') : serverUrl

/** Returns the path of SERVER_URL without a trailing slash, such as `/pub`, or an empty string. All endpoints except the probes are below it. */
export const basePath = (serverUrl: string): string => new URL(serverUrl).pathname.replace(/\/$/, '')

/**
 * Returns a function that logs a warning once if a trusted proxy reports https but SERVER_URL uses http. Links then use https, but dependencies in
 * packages name this server by SERVER_URL.
 */
export function createSchemeWarning(serverUrl: string, log: Log): (request: FastifyRequest) => void {
  let warned = serverUrl.startsWith('https:')
  return (request) => {
    if (warned) return
    warned = true
    const meant = publicUrl(request, serverUrl)
    log.warning(`The proxy reports https, but SERVER_URL is ${serverUrl}. If clients use https, set SERVER_URL=${meant}`)
  }
}
