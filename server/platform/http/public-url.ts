import type { FastifyRequest } from 'fastify'

/** Whether the client uses https, according to SERVER_URL or a trusted proxy. */
export const isSecure = (request: FastifyRequest, serverUrl: string) => serverUrl.startsWith('https:') || request.protocol === 'https'

/** Returns SERVER_URL as seen by the client: https if a trusted proxy reports https, even if SERVER_URL uses http. */
export const publicUrl = (request: FastifyRequest, serverUrl: string): string =>
  isSecure(request, serverUrl) ? serverUrl.replace(/^http:/, 'https:') : serverUrl

/** Returns the hosted URL that a request belongs to, as in `PUB_HOSTED_URL`: that of the mirror below `/mirror`, otherwise SERVER_URL. */
export function hostedUrl(request: FastifyRequest, serverUrl: string): string {
  const here = publicUrl(request, serverUrl)
  return (request.routeOptions.url ?? request.url).startsWith(`${basePath(serverUrl)}/mirror/`) ? `${here}/mirror` : here
}

/** Returns the path of SERVER_URL without a trailing slash, such as `/pub`, or an empty string. All endpoints except the probes are below it. */
export function basePath(serverUrl: string): string {
  const start = serverUrl.indexOf('/', serverUrl.indexOf('://') + 3)
  return start < 0 ? '' : serverUrl.slice(start, serverUrl.endsWith('/') ? -1 : undefined)
}
