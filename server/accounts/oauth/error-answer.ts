import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { unavailable } from '../../platform/db/unavailable.ts'
import { OauthError, type OauthErrorCode } from './errors.ts'

type Fault = { status: number; code: OauthErrorCode; description: string; retryAfter?: number | undefined }

/**
 * Sends errors of the token endpoint in the format of RFC 6749 §5.2.
 * @throws other errors, which the server's error handler logs and answers.
 */
export function answerInOauthWords(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const fault = faultOf(error)
  if (!fault) throw error
  if (fault.retryAfter) reply.header('retry-after', String(fault.retryAfter))
  return reply
    .code(fault.status)
    .header('cache-control', 'no-store')
    .header('pragma', 'no-cache')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: fault.code, error_description: fault.description }))
}

function faultOf(thrown: unknown): Fault | null {
  const error = unavailable(thrown) ?? thrown
  if (error instanceof OauthError) return { status: 400, code: error.code, description: error.message }
  if (error instanceof ApiError) {
    if (error.code === 'InvalidInput') return { status: error.status, code: 'invalid_request', description: error.message }
    if (error.code !== 'RateLimitExceeded' && error.code !== 'ServiceUnavailable') return null
    return { status: error.status, code: 'temporarily_unavailable', description: error.message, retryAfter: error.retryAfter }
  }
  const { statusCode: status = 500 } = error as Partial<FastifyError>
  if (status === 413) return { status, code: 'invalid_request', description: 'The body is too large.' }
  if (status === 415) return { status, code: 'invalid_request', description: 'Send a form (application/x-www-form-urlencoded) or JSON.' }
  return status === 400 ? { status, code: 'invalid_request', description: 'The body is malformed.' } : null
}
