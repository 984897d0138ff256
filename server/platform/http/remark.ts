import type { FastifyRequest } from 'fastify'
import type { Log } from './log.ts'

/** Additions to the log line of a request. */
type Remark = {
  /** Type of the GraphQL operation, and its name if it has one. */
  operation?: string
  /** Reason for an error that the response does not include. */
  refusal?: Refusal
}
export type Refusal = { level: 'warning' | 'error'; reason: string }

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

/**
 * Returns an operation name for the log, truncated, and masked if it might contain a secret. Clients choose names freely; GraphQL does not limit
 * their length.
 */
export const shownName = (name: string): string => (/svc_/i.test(name) ? '***' : name.slice(0, 64))

/**
 * Adds the reason for an error to the log line of a request. If there are several, the first one is kept. If the line was already written because the
 * client disconnected, the reason is logged as a separate line.
 */
export function noteRefusal(log: Log, request: FastifyRequest, refusal: Refusal): void {
  if (request.isLogged) log[refusal.level](`request ${request.id} failed: ${refusal.reason}`)
  request.remark ??= {}
  request.remark.refusal ??= refusal
}
