import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import { raceConflict, isRejectedForMove, unavailable } from '../db/unavailable.ts'
import { ApiError, bodyInterrupted, bodyTooLarge, internalError, invalidInput, notFound, unsupportedMediaType } from '../../errors.ts'
import { noStore } from './caching/conditional.ts'
import { closesAfterAnswer, stopDiscarding } from './discard.ts'
import type { Log } from './log.ts'
import { noteFailure, type LoggedFailure } from './request-log.ts'

/** Maximum size of a JSON body in bytes. */
export const bodyLimit = 1024 * 1024

/** Maximum body size of endpoints without authentication, such as sign-in, setup, invitations and token revocation. */
export const openBodyLimit = 64 * 1024

/** Media type of pub's repository protocol, used by its endpoints, also for errors. */
export const pubType = 'application/vnd.pub.v2+json; charset=utf-8'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the endpoint belongs to pub's repository protocol. */
    pub?: boolean
    /** Whether package clients download an archive from the endpoint. */
    isArchive?: boolean
    /** Whether errors include the XML that the package client reads from responses of the upload URL. */
    xmlErrors?: boolean
  }
}

/** Converts an error to a response body. */
export type Envelope = (failure: ApiError) => object

const defaultEnvelope: Envelope = ({ code, message, extensions: { secondFactor } }) => ({ error: { code, message, secondFactor } })

/** Error format of GraphQL, also for errors that occur before the query is parsed. */
export const graphqlEnvelope: Envelope = ({ code, message, retryAfter, extensions: { field } }) => ({
  errors: [{ message, extensions: { code, field, retryAfter } }],
})

/** Sends an error response, in the REST format unless `envelope` is given. Unexpected errors are logged and masked. */
export function sendFailure(
  log: Log,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  envelope = defaultEnvelope,
): FastifyReply {
  const failure = known(error, request) ?? unavailable(error) ?? masked(log, error, request)
  const details = describeFailure(failure, error)
  if (details) noteFailure(log, request, details)
  if (failure.status === 401 || failure.status === 403) reply.header('www-authenticate', challenges(failure, reply))
  if (failure.retryAfter) reply.header('retry-after', String(failure.retryAfter))
  if (closesAfterAnswer(request.raw)) reply.header('connection', 'close')
  const { pub, xmlErrors } = request.routeOptions.config
  return reply
    .code(failure.status)
    .header('cache-control', noStore)
    .type(pub ? pubType : 'application/json; charset=utf-8')
    .send(JSON.stringify(xmlErrors ? { ...envelope(failure), xml: xmlOf(failure) } : envelope(failure)))
}

/**
 * Returns an error in the XML of cloud storage services. At the upload URL, the package client searches the body for `<?xml` and prints the message
 * as is. Quotation marks are replaced because JSON would escape them.
 */
function xmlOf({ code, message }: ApiError): string {
  const line = message
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028\u2029\ufffe\uffff]+/gu, ' ')
    .replaceAll('"', "'")
  const escaped = line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<?xml version='1.0' encoding='UTF-8'?><Error><Code>${code}</Code><Message>${escaped}</Message></Error>`
}

/** Returns the challenges: the package client's, and the route's own if it accepts another scheme (RFC 9110 §11.6.1). */
function challenges({ status, message }: ApiError, reply: FastifyReply): string | string[] {
  const own = reply.getHeader('www-authenticate')
  return status === 401 && typeof own === 'string' ? [challenge(message), own] : challenge(message)
}

/** Returns the only challenge format that the package client reads: printable ASCII, quoted, at most 1,024 characters. */
export function challenge(message: string): string {
  const printable = message.replace(/[^\x20-\x7e]/g, '?').slice(0, 960)
  return `Bearer realm="pub", message="${printable.replace(/["\\]/g, '\\$&')}"`
}

/** Returns a handler that responds to and logs requests that are not valid HTTP. No request object exists for them. */
export const malformedHandler =
  (log: Log) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || stopDiscarding(socket)) return
    const [status, message] = malformedResponse(error)
    log.info(`malformed request ${status.slice(0, 3)} ${socket.remoteAddress ?? '-'} ${error.code ?? '-'}`)
    respondAndClose(socket, status, invalidInput(message))
  }

function malformedResponse(error: { code?: string }): [status: string, message: string] {
  return error.code === 'HPE_HEADER_OVERFLOW'
    ? ['431 Request Header Fields Too Large', 'The request headers are too large.']
    : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request did not arrive in time.']
      : ['400 Bad Request', 'The request is not well-formed HTTP.']
}

/**
 * Writes an error response to a socket that has no response object, and closes it after `lingerMs`, since an immediate close might lose the response.
 * `status` is the status code with its reason phrase.
 */
export function respondAndClose(socket: Socket, status: string, failure: ApiError, lingerMs = 1000): void {
  const body = JSON.stringify(defaultEnvelope(failure))
  const headers = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(failure.retryAfter ? [`Retry-After: ${failure.retryAfter}`] : []),
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
  if (lingerMs === 0) socket.destroySoon()
  else setTimeout(() => socket.destroy(), lingerMs).unref()
}

function known(error: unknown, request: FastifyRequest): ApiError | null {
  const expected = error instanceof ApiError ? error : raceConflict(error)
  if (expected) return expected
  if (error === request.raw.errored) return bodyInterrupted()
  const { code, statusCode, message } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(request.routeOptions.bodyLimit ?? bodyLimit)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupportedMediaType('application/json')
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY') return invalidInput('The body is empty; send a JSON object.')
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') return notFound('Not found.')
  if (error instanceof SyntaxError || code === 'FST_ERR_CTP_INVALID_JSON_BODY')
    return invalidInput(`The body is not valid JSON: ${message}`)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return invalidInput(message ?? 'The request is not valid.')
  return null
}

/** Returns details for the log that the response omits: the cause of an ApiError, or the database error behind a 503. */
export function describeFailure(failure: ApiError, error: unknown): LoggedFailure | null {
  const { message, cause } = failure
  if (cause instanceof Error) return { level: 'error', reason: `${message} ${String(cause)}` }
  if (!unavailable(error) || isRejectedForMove(error)) return null
  return { level: 'warning', reason: `${message} ${String(error)}` }
}

function masked(log: Log, error: unknown, request: FastifyRequest): ApiError {
  log.error(`request ${request.id} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  return internalError(request.id)
}
