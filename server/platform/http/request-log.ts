import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServerResponse, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { randomText } from './keys.ts'
import type { Log } from './log.ts'
import { tooSlowRequests } from './connections/sockets.ts'

/** A finished request: the response was sent completely, or the client disconnected. */
export type RequestEnd = { request: FastifyRequest; response: ServerResponse; status: number; ms: number }

type Options = {
  /** Writes the log line: plain text by default, or JSON fields (see `createJsonRequestWriter`). */
  write?: ((log: Log, end: RequestEnd) => void) | undefined
  /** Other listeners for finished requests. */
  listeners?: ((end: RequestEnd) => void)[]
  /** Whether successful probes are logged. */
  probes?: boolean
}

/** Logs one line per request, without query. GraphQL requests add the operation; failed ones the reason if the response does not include it. */
export function logRequests(app: FastifyInstance, log: Log, options: Options = {}): void {
  const { write: writeEnd = writeText, listeners = [], probes = true } = options
  app.decorateRequest('remark', null)
  app.decorateRequest('isLogged', false)
  const write = (end: RequestEnd) => {
    if (probes || !isHealthyProbe(end)) writeEnd(log, end)
  }
  const notify = listeners.reduce((first, then) => (end) => (first(end), then(end)), write)
  // Direct listeners: Fastify's `onResponse` hooks take about 5% of the time of a short request.
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const startedAt = performance.now()
    const end = (status: number) => {
      if (request.isLogged) return
      request.isLogged = true
      notify({ request, response, status, ms: performance.now() - startedAt })
    }
    const goAway = () => end(tooSlowRequests.has(request.raw) ? 408 : clientWentAway)
    response.on('finish', () => end(response.statusCode))
    response.on('close', goAway)
    // A response queued behind earlier ones emits no `close` when its connection closes, but its request does.
    const isWaiting = () => response.socket === null && !response.writableEnded
    if (isWaiting()) request.raw.once('close', () => void (isWaiting() && goAway()))
    done()
  })
}

function writeText(log: Log, { request, status, ms }: RequestEnd): void {
  const { operation, failure } = request.remark ?? {}
  const more = (operation ? ` ${operation}` : '') + (failure ? ` failed: ${failure.reason}` : '')
  const line = `${request.method} ${shownPath(request)} ${status} ${Math.round(ms)}ms ${request.ip || unknownAddress} ${request.id}${more}`
  log[failure?.level ?? 'info'](line)
}

/** Failed probes are always logged. */
const isHealthyProbe = ({ request, status }: RequestEnd): boolean => status < 400 && probe.test(routeOf(request))

const probe = /\/(?:livez|readyz|healthz|api\/v1\/health)$/

/** nginx's status code for a client that closed the connection. */
const clientWentAway = 499

/** Returns a generator of request ids. A random prefix keeps the ids of several processes and restarts distinct in one log. */
export function requestIds(): () => string {
  const prefix = randomText(6)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

/** Placeholder for an unknown address, for example if the client disconnected before the address was read. */
const unknownAddress = '-'

/** Returns the path of a request for the log, without query, and with secrets masked. */
export function shownPath({ raw: { url = '' } }: FastifyRequest): string {
  const end = url.indexOf('?')
  return maskPath(end < 0 ? url : url.slice(0, end))
}

const masked = '***'

/** Replaces invitation tokens, ids of pending authorizations, access tokens and e-mail addresses in a path by `***`, also if they or the slashes are percent-encoded. */
export function maskPath(path: string): string {
  if (!suspicious.test(path)) return path
  let before = ''
  const shown = path.split('/').map((segment) => {
    const plain = decodedPath(segment)
    let isSecret = plain.includes('@') || encoded.test(plain)
    // An empty part between `invite` and the token is skipped.
    for (const part of plain.split(/[/\\]/).filter(Boolean)) {
      isSecret ||= secretParent.test(before)
      before = /^oauth$/i.test(before) ? `${before}/${part}` : part
    }
    if (isSecret) return masked
    if (plain === segment) return segment.replace(secretInPath, `$1${masked}`)
    return plain.search(secretInPath) >= 0 ? masked : segment
  })
  return shown.join('/')
}

/** Fast path: most paths contain nothing to mask. */
const suspicious = /[%@]|invite|pending|svc_/i
/** Access tokens and job tokens (server/platform/access/token-secret.ts), and upload keys (server/registry/uploads/key.ts). */
const secretInPath = /(svc_(?:pat|job|upload)_)\w*/gi
const encoded = /%[0-9a-f]{2}/i
/** What precedes a secret in a path. */
const secretParent = /(?:^|\/)invites?$|^oauth\/pending$/i

/** Decodes percent-encoding up to three times, since proxies and clients may encode a path repeatedly. Masking needs no UTF-8. */
function decodedPath(segment: string, times = 3): string {
  if (times === 0 || !encoded.test(segment)) return segment
  const once = segment.replace(/%([0-9a-f]{2})/gi, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decodedPath(once, times - 1)
}

/** Returns the route pattern of a request, such as `/api/packages/:pkg`. The number of patterns is bounded, so they can be used as metric labels. */
export const routeOf = (request: FastifyRequest): string => (request.is404 ? unmatched : (request.routeOptions.url ?? unmatched))

const unmatched = 'unmatched'

/** Additions to the log line of a request. */
type Remark = {
  /** Type of the GraphQL operation, and its name if it has one. */
  operation?: string
  /** Reason for an error that the response does not include. */
  failure?: LoggedFailure
}
export type LoggedFailure = { level: 'warning' | 'error'; reason: string }

declare module 'fastify' {
  interface FastifyRequest {
    remark: Remark | null
    /** Whether the log line of the request has been written. */
    isLogged: boolean
  }
}

/** Adds the GraphQL operation to the log line of a request. */
export function noteOperation(request: FastifyRequest, type: string, name: string | undefined): void {
  request.remark ??= {}
  request.remark.operation = name === undefined ? type : `${type} ${shownName(name)}`
}

/** Returns an operation name for the log, truncated, and masked if it might contain a secret, since clients choose it freely. */
export const shownName = (name: string): string => (/svc_/i.test(name) ? '***' : name.slice(0, 64))

/**
 * Adds the reason for an error to the log line of a request, unless it has one. If the line was already written because the client disconnected, logs
 * a separate line.
 */
export function noteFailure(log: Log, request: FastifyRequest, failure: LoggedFailure): void {
  if (request.isLogged) log[failure.level](`request ${request.id} failed: ${failure.reason}`)
  request.remark ??= {}
  request.remark.failure ??= failure
}

/**
 * Returns a generator of request ids: the header X-Request-Id, shared with the logs of a proxy, or a new id if that is invalid or might be a secret.
 */
export const requestIdsFrom =
  (make: () => string) =>
  ({ headers }: IncomingMessage): string => {
    const given = headers['x-request-id']
    return typeof given === 'string' && sane.test(given) && !secret.test(given) ? given : make()
  }

const sane = /^[\w.:=+/-]{1,128}$/
const secret = /svc_/i

/** Adds the header X-Request-Id to responses, and returns a function that logs a request as JSON fields. */
export function createJsonRequestWriter(app: FastifyInstance): (log: Log, end: RequestEnd) => void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    const { socket } = request.raw
    // Runs before Node's own listener, which starts sending the next response on the connection.
    reply.raw.prependListener('finish', () => {
      const sentBefore = sent.get(socket) ?? 0
      sent.set(socket, socket.bytesWritten)
      bytesOf.set(request.raw, socket.bytesWritten - sentBefore)
    })
    done()
  })
  return (log, { request, status, ms }) => {
    const { method, scope, ip, raw } = request
    const { operation, failure } = request.remark ?? {}
    const path = shownPath(request)
    log[failure?.level ?? 'info'](`${method} ${path} ${status}`, {
      requestId: request.id,
      userId: scope?.userId ?? null,
      tokenPrefix: scope?.tokenPrefix ?? null,
      address: ip || null,
      method,
      route: routeOf(request),
      path,
      status,
      ms: Math.round(ms * 10) / 10,
      bytes: bytesOf.get(raw) ?? raw.socket.bytesWritten - (sent.get(raw.socket) ?? 0),
      queries: scope?.queries ?? 0,
      ...(operation !== undefined && { operation }),
      ...(failure && { reason: failure.reason }),
    })
  }
}

/** Bytes sent on a connection up to the end of its latest response. Responses are sent one after another. */
const sent = new WeakMap<Socket, number>()
/** Bytes sent for the response to a request. */
const bytesOf = new WeakMap<IncomingMessage, number>()
