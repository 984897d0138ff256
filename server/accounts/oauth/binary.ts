import { z } from 'zod'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import { scopes } from '../../platform/access/roles.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { isFreeToAct } from '../../platform/access/policy.ts'
import { acceptForms } from '../../platform/http/bodies.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary } from '../../platform/rest/route.ts'
import { ApiError } from '../../errors.ts'
import { unavailable } from '../../platform/db/unavailable.ts'
import {
  OauthError,
  type OauthErrorCode,
  oauthErrorSchema,
  clientFault,
  type Parameters,
  readAuthorization,
  stateParameter,
  withParameters,
} from './parameters.ts'
import { exchangeCode } from './exchange.ts'
import { requestAuthorization } from './service.ts'

const issued = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  scope: z.string().describe('The scopes, separated by commas.'),
  email: z.string(),
})

/** The endpoints of the OAuth flow: the authorization endpoint for browsers and the token endpoint for clients (RFC 6749, RFC 7636). */
export const oauthBinaries = [
  binary('GET /oauth/authorize', {
    access: 'open',
    anyCredential: true,
    summary: 'Asks the signed-in user to grant a token to a command-line client.',
    handler: authorize,
    errorStatuses: [429],
    query: {
      response_type: '`code`.',
      client_id: '`cli`.',
      redirect_uri: 'URL of the listening client: http on localhost, 127.0.0.1 or [::1], with a port.',
      code_challenge: 'SHA-256 of the verifier in base64url.',
      code_challenge_method: '`S256`.',
      state: 'Returned unchanged.',
      scope: 'Scopes, separated by commas or spaces. Default: `read,write`.',
    },
    produces: {
      302: { description: 'Redirects to the login page, to the consent page, or to the client with `error` and `state`.' },
      400: { description: 'The client or its redirect URI is invalid, so the browser is not redirected.', type: 'text/html' },
    },
  }),
  binary('POST /oauth/token', {
    access: 'open',
    anyCredential: true,
    summary:
      'Exchanges a code and its PKCE verifier for a personal access token. Errors have the format of RFC 6749: `{error, error_description}`.',
    admit: ({ limits, ip }) => limits.use('oauth', `token ${addressKey(ip)}`),
    handler: token,
    accept: async (scope) => {
      await acceptForms(scope)
      scope.setErrorHandler(answerInOauthWords)
    },
    consumes: ['application/x-www-form-urlencoded', 'application/json'],
    produces: { 200: { description: 'The token.', type: 'application/json', schema: issued } },
    errorSchema: oauthErrorSchema,
  }),
]

async function authorize(context: Context): Promise<unknown> {
  const { request, reply, config, limits, ip } = context
  await limits.use('oauth', `authorize ${addressKey(ip)}`)
  reply.header('cache-control', 'no-store')
  const query = request.query as Parameters
  const fault = clientFault(query)
  if (fault) return sendFaultPage(reply, fault)
  const base = publicUrl(request, config.SERVER_URL)
  try {
    const requested = readAuthorization(query)
    if (!mayAuthorize(context)) return await reply.redirect(`${base}/login?redirect=${encodeURIComponent(sameAgain(request.url))}`)
    return await reply.redirect(`${base}/oauth/consent?request_id=${await requestAuthorization(context, requested)}`)
  } catch (error) {
    if (!(error instanceof OauthError)) throw error
    const answer = { error: error.code, error_description: error.message, state: stateParameter(query) }
    return reply.redirect(withParameters(String(query.redirect_uri), answer))
  }
}

/**
 * Returns whether the caller can authorize a client: only with a session, since a token must not create other tokens, and only after a required
 * password change and the proof of a required second factor.
 */
function mayAuthorize(context: Context): context is SignedInContext {
  return context.credential?.kind === 'session' && isFreeToAct(context)
}

/** Returns the path of this request relative to the server's base, for the console to redirect to after the sign-in. */
const sameAgain = (url: string): string => `/oauth/authorize${url.slice(url.indexOf('?'))}`

async function token(context: Context): Promise<unknown> {
  const { request, reply } = context
  const { secret, scopes, email } = await exchangeCode(context, (request.body ?? {}) as Parameters)
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
  return reply.send({ access_token: secret, token_type: 'Bearer', scope: scopes.join(','), email })
}

type Fault = { status: number; code: OauthErrorCode; description: string; retryAfter?: number | undefined }

/**
 * Sends errors of the token endpoint in the format of RFC 6749 §5.2.
 * @throws other errors, which the server's error handler logs and answers.
 */
function answerInOauthWords(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
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

const pageStyle = ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem}'
const pageStyleHash = createHash('sha256').update(pageStyle).digest('base64')
const pagePolicy = `default-src 'none'; style-src 'sha256-${pageStyleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Sends an error page (400) for a request that must not be redirected. The page contains no scripts, links or forms. */
function sendFaultPage(reply: FastifyReply, fault: string): FastifyReply {
  return reply.code(400).type('text/html; charset=utf-8').header('content-security-policy', pagePolicy).send(faultPage(fault))
}

const faultPage = (fault: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Cannot authorize</title><meta name="viewport" content="width=device-width"><style>${pageStyle}</style></head>
<body><h1>This request cannot be trusted</h1><p>${escapeHtml(fault)}</p><p>Access was not granted. Close this page, and start again from the command line.</p></body>
</html>
`

const metadata = z.object({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  response_types_supported: z.array(z.literal('code')),
  response_modes_supported: z.array(z.literal('query')),
  grant_types_supported: z.array(z.literal('authorization_code')),
  code_challenge_methods_supported: z.array(z.literal('S256')),
  token_endpoint_auth_methods_supported: z.array(z.literal('none')),
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
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        scopes_supported: scopes,
        service_documentation: `${base}/api/docs`,
      })
  },
  produces: { 200: { description: 'The metadata.', type: 'application/json', schema: metadata } },
})
