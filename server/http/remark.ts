import type { FastifyRequest } from 'fastify'
import type { Log } from './log.ts'

/** What the line of a request says in addition to method, path and status. */
type Remark = {
  /** The GraphQL operation: its type, and its name if it has one. */
  operation?: string
  /** Why the request was refused, where the answer does not say it. */
  refusal?: Refusal
}
export type Refusal = { level: 'warning' | 'error'; reason: string }

declare module 'fastify' {
  interface FastifyRequest {
    remark: Remark | null
    /** Whether the line of the request is written. */
    isLogged: boolean
  }
}

/** Adds the GraphQL operation to the line of a request. */
export function noteOperation(request: FastifyRequest, type: string, name: string | undefined): void {
  request.remark ??= {}
  request.remark.operation = name === undefined ? type : `${type} ${shownName(name)}`
}

/** Clients name their operations as they like: GraphQL allows letters, digits and underscores, of any number. */
export const shownName = (name: string): string => (/svc_/i.test(name) ? '***' : name.slice(0, 64))

/**
 * Adds to the line of a request why it was refused. Of several reasons, as the fields of a query have them, the line has the first. If the line
 * is written already, because the client went away, the reason gets a line of its own.
 */
export function noteRefusal(log: Log, request: FastifyRequest, refusal: Refusal): void {
  if (request.isLogged) log[refusal.level](`request ${request.id} failed: ${refusal.reason}`)
  request.remark ??= {}
  request.remark.refusal ??= refusal
}
