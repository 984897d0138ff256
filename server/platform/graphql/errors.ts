import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { FastifyReply } from 'fastify'
import type { Context } from '../access/context.ts'
import { raceConflict, unavailable } from '../db/unavailable.ts'
import { ApiError, internalError, statusOf } from '../../errors.ts'
import { challenge, refusalOf } from '../http/failures.ts'
import { randomText } from '../http/keys.ts'
import { noteRefusal, type Refusal } from '../http/remark.ts'
import { toApiError } from './operation-errors.ts'
import type { Services } from '../../services.ts'

/** Adds the API's error codes to errors of graphql-js, such as invalid variables or documents, and sets the headers that belong to errors. */
export const formatErrors: Plugin<object, { caller: Context }> = {
  onResultProcess(event) {
    const { result, serverContext } = event
    if (!('errors' in result) || !result.errors) return
    for (const error of result.errors) noteReason(serverContext.caller, error)
    const { spent } = serverContext.caller.budget ?? {}
    // Fields that were skipped after the budget was exhausted all have the same error.
    if (spent) return event.setResult({ errors: [spent] })
    const errors = (result.errors as GraphQLError[]).map(coded)
    setErrorHeaders(errors, serverContext.caller.reply)
    event.setResult({ ...(result as ExecutionResult), errors })
  },
}

/** Returns the error to send for one that a resolver threw: an ApiError unchanged; any other error is logged and masked. */
export function masked({ log }: Pick<Services, 'log'>, error: unknown): Error {
  const cause = error instanceof GraphQLError ? toApiError(error) : error
  const known = cause instanceof ApiError ? cause : raceConflict(cause)
  // A GraphQLError without a cause is an error in the request, reported by graphql-js.
  if (!known && error instanceof GraphQLError && cause === error) return coded(error)
  const failure = known ?? unavailable(cause)
  if (failure) return explained(at(failure, error), refusalOf(failure, cause))
  const mistake = internalError(randomText(6))
  log.error(`${mistake.message}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`)
  return at(mistake, error)
}

/** Log details of errors whose message does not include them, until the request is logged. */
const reasons = new WeakMap<Error, Refusal>()

function explained(shown: Error, refusal: Refusal | null): Error {
  if (refusal) reasons.set(shown, refusal)
  return shown
}

/** Adds the log details of an error to the log line of its request. */
export function noteReason({ log, request }: Context, error: Error): void {
  const refusal = reasons.get(error)
  if (refusal) noteRefusal(log, request, refusal)
}

function coded(error: GraphQLError): GraphQLError {
  if (typeof error.extensions?.code === 'string' && error.extensions.code in statusOf) return error
  const known = toApiError(error)
  if (known instanceof ApiError) return at(known, error)
  const { nodes = null, path = null, message, extensions } = error
  return new GraphQLError(message, { nodes, path, extensions: { ...extensions, code: 'InvalidInput' } })
}

const at = (failure: ApiError, error: unknown): GraphQLError =>
  error instanceof GraphQLError
    ? new GraphQLError(failure.message, { nodes: error.nodes ?? null, path: error.path ?? null, extensions: failure.extensions })
    : failure

/** Sets the same headers as REST: `Retry-After`, and `WWW-Authenticate` for 401 and 403. */
function setErrorHeaders(errors: GraphQLError[], reply: FastifyReply): void {
  const seconds = errors.map(({ extensions }) => Number(extensions.retryAfter ?? 0))
  if (Math.max(...seconds) > 0) reply.header('retry-after', String(Math.max(...seconds)))
  const refused = errors.find(({ extensions }) => [401, 403].includes(statusOf[extensions.code as keyof typeof statusOf]))
  if (refused) reply.header('www-authenticate', challenge(refused.message))
}
