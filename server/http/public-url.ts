import type { FastifyRequest } from 'fastify'
import { isSecure } from './cookies.ts'
import type { Log } from './log.ts'

/** SERVER_URL as this client reaches it: https when a trusted proxy says so, whatever the configuration says. */
export const publicUrl = (request: FastifyRequest, serverUrl: string): string =>
  isSecure(request, serverUrl) ? serverUrl.replace(/^http:/, 'https:') : serverUrl

/** The path that SERVER_URL ends in, such as `/pub`; empty where there is none. Everything but the probes is below it. */
export const basePath = (serverUrl: string): string => new URL(serverUrl).pathname.replace(/\/$/, '')

/**
 * What warns, once, when a trusted proxy says https where SERVER_URL says http: links become https, but packages name this server by SERVER_URL
 * in what they depend on.
 */
export function warnerOfOtherScheme(serverUrl: string, log: Log): (request: FastifyRequest) => void {
  let warned = serverUrl.startsWith('https:')
  return (request) => {
    if (warned) return
    warned = true
    const meant = publicUrl(request, serverUrl)
    log.warning(`The proxy says that clients come over https, but SERVER_URL is ${serverUrl}. If that is right, set SERVER_URL=${meant}`)
  }
}
