import { z } from 'zod'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { scopes } from '../../platform/access/roles.ts'
import type { Context } from '../../platform/access/context.ts'
import { acceptForms } from '../../platform/http/bodies.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary } from '../../platform/rest/route.ts'
import { ApiError } from '../../errors.ts'
import { unavailable } from '../../platform/db/unavailable.ts'
import { revokeBySecret } from '../tokens/revoke.ts'
import { requestDevice } from './devices.ts'
import { deviceGrant, exchangeCode, exchangeDeviceCode } from './exchange.ts'
import { clientId, OauthError, type OauthErrorCode, oauthErrorSchema, optional, type Parameters, requiredParameter } from './parameters.ts'

const issued = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  scope: z.string().describe('The scopes, separated by commas.'),
  email: z.string(),
})

const device = z.object({
  device_code: z.string(),
  user_code: z.string().describe('The code that the user enters at `verification_uri`.'),
  verification_uri: z.url(),
  verification_uri_complete: z.url(),
  expires_in: z.int(),
  interval: z.int().describe('Minimum time between two polls, in seconds.'),
})

/** Options that the endpoints of clients share: forms or JSON in, errors in the format of RFC 6749 out. */
const ofClients = {
  access: 'open',
  anyCredential: true,
  accept: async (scope: FastifyInstance) => {
    await acceptForms(scope)
    scope.setErrorHandler(sendOauthError)
  },
  consumes: ['application/x-www-form-urlencoded', 'application/json'],
  errorSchema: oauthErrorSchema,
} as const

/** The endpoints that clients call: tokens (RFC 6749 §3.2, RFC 8628 §3.4), revocation (RFC 7009) and devices (RFC 8628 §3.1). */
export const oauthClientBinaries = [
  binary('POST /oauth/token', {
    ...ofClients,
    consumes: [...ofClients.consumes],
    summary:
      'Exchanges a code and its PKCE verifier, or a device code, for a personal access token. Errors have the format of RFC 6749: `{error, error_description}`.',
    admit: ({ limits, ip }) => limits.use('oauth', tokenKey(ip)),
    handler: token,
    produces: { 200: { description: 'The token.', type: 'application/json', schema: issued } },
  }),
  binary('POST /oauth/revoke', {
    ...ofClients,
    consumes: [...ofClients.consumes],
    summary: 'Revokes a token (RFC 7009), and all tokens that were created with it. The response does not reveal whether the token exists.',
    admit: ({ limits, ip }) => limits.use('tokenRevocation', addressKey(ip)),
    handler: revoke,
    produces: { 200: { description: 'The token is not valid any more.' } },
  }),
  binary('POST /oauth/device_authorization', {
    ...ofClients,
    consumes: [...ofClients.consumes],
    summary: 'Starts the sign-in of a device without a browser (RFC 8628). Poll `/oauth/token` with the device code.',
    admit: ({ limits, ip }) => limits.use('oauth', `device ${addressKey(ip)}`),
    handler: authorizeDevice,
    produces: { 200: { description: 'The codes.', type: 'application/json', schema: device } },
  }),
]

const parametersOf = ({ request }: Context) => (request.body ?? {}) as Parameters

const unstored = (reply: FastifyReply): FastifyReply => reply.header('cache-control', 'no-store').header('pragma', 'no-cache')

const tokenKey = (ip: string): string => `token ${addressKey(ip)}`

async function token(context: Context): Promise<unknown> {
  const { reply, limits, ip } = context
  const parameters = parametersOf(context)
  const isDevice = parameters.grant_type === deviceGrant
  // Devices poll, so that their requests have a limit of their own, which is known only now.
  if (isDevice) {
    await limits.refund('oauth', tokenKey(ip))
    await limits.use('devicePoll', addressKey(ip))
  }
  const grant = await (isDevice ? exchangeDeviceCode : exchangeCode)(context, parameters)
  return unstored(reply).send({ access_token: grant.secret, token_type: 'Bearer', scope: grant.scopes.join(','), email: grant.email })
}

/** Clients have no secret of their own, so the token itself proves that the caller may revoke it. Hints about its type are not needed. */
async function revoke(context: Context): Promise<unknown> {
  const parameters = parametersOf(context)
  const secret = requiredParameter(parameters, 'token')
  if ((optional(parameters, 'client_id') ?? clientId) !== clientId) throw new OauthError('invalid_client', 'client_id must be cli.')
  await revokeBySecret(context, secret)
  return unstored(context.reply).send()
}

async function authorizeDevice(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  const { device_code, user_code, ...times } = await requestDevice(context, parametersOf(context))
  const page = `${publicUrl(request, config.SERVER_URL)}/device`
  const urls = { verification_uri: page, verification_uri_complete: `${page}?user_code=${user_code}` }
  return unstored(reply).send({ device_code, user_code, ...urls, ...times })
}

type Fault = { status: number; code: OauthErrorCode; description: string; retryAfter?: number | undefined }

/**
 * Sends errors of the endpoints of clients in the format of RFC 6749 §5.2.
 * @throws other errors, which the server's error handler logs and answers.
 */
function sendOauthError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const fault = faultOf(error)
  if (!fault) throw error
  if (fault.retryAfter) reply.header('retry-after', String(fault.retryAfter))
  return unstored(reply)
    .code(fault.status)
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

const metadata = z.object({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  device_authorization_endpoint: z.url(),
  revocation_endpoint: z.url(),
  response_types_supported: z.array(z.literal('code')),
  response_modes_supported: z.array(z.literal('query')),
  grant_types_supported: z.array(z.enum(['authorization_code', deviceGrant])),
  code_challenge_methods_supported: z.array(z.literal('S256')),
  token_endpoint_auth_methods_supported: z.array(z.literal('none')),
  revocation_endpoint_auth_methods_supported: z.array(z.literal('none')),
  scopes_supported: z.array(z.enum(scopes)),
  service_documentation: z.url(),
})

/** Describes the authorization server to clients (RFC 8414). */
export const oauthMetadata = binary('GET /.well-known/oauth-authorization-server', {
  access: 'open',
  anyCredential: true,
  beforeSetup: true,
  summary: 'Metadata of the OAuth authorization server (RFC 8414).',
  handler: async ({ request, reply, config }: Context) => {
    const base = publicUrl(request, config.SERVER_URL)
    return reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send({
        issuer: base,
        authorization_endpoint: `${base}/oauth/authorize`,
        token_endpoint: `${base}/oauth/token`,
        device_authorization_endpoint: `${base}/oauth/device_authorization`,
        revocation_endpoint: `${base}/oauth/revoke`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', deviceGrant],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
        scopes_supported: scopes,
        service_documentation: `${base}/api/docs`,
      })
  },
  produces: { 200: { description: 'The metadata.', type: 'application/json', schema: metadata } },
})
