import type { FastifyReply } from 'fastify'
import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { isFreeToAct } from '../../platform/access/policy.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary } from '../../platform/rest/route.ts'
import { OauthError, clientFault, type Parameters, readAuthorization, stateParameter, withParameters } from './parameters.ts'
import { requestAuthorization } from './service.ts'

/** The authorization endpoint, which browsers open (RFC 6749, RFC 7636). */
export const oauthAuthorize = binary('GET /oauth/authorize', {
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
})

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
