import { invalidInput, serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { acceptForms } from '../../platform/http/bodies.ts'
import { noStore } from '../../platform/http/caching/conditional.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary, ok, route } from '../../platform/rest/route.ts'
import { countSignInFailure } from '../sessions/start.ts'
import { ofViewer } from '../users/refs.ts'
import { finishAttempt } from './callback.ts'
import { type AttemptError, AttemptFailure } from './client.ts'
import { logOutByProvider, LogoutRejected } from './logout.ts'
import { findProvider } from './providers.ts'
import { isRateLimited, loginPath, safePath, startAttempt, withQuery } from './attempts.ts'

const rules = 'groupRules { group role publisher publisherRole }'
const provider = `name label issuer clientId hasClientSecret scopes groupsClaim trustsSecondFactor isFromEnvironment redirectUri backchannelLogoutUri ${rules} lastSuccessAt lastErrorAt lastError`
const settings = 'passwordSignIn oidcSignUp oidcSignUpDomains oidcSignUpGroups oidcDefaultRole oidcMaxIdleDays'
const identity = 'id: uuid issuer subject email createdAt lastUsedAt'

/** Routes of signing in through OpenID providers. */
export const providerRoutes = [
  binary('GET /auth/oidc/:name', {
    access: 'open',
    anyCredential: true,
    summary: 'Starts a sign-in at a provider.',
    handler: start,
    query: { return_to: 'Path of this server to return to, relative to SERVER_URL.' },
    produces: { 302: { description: 'Redirects to the provider, or to the login page with `error` and `provider`.' } },
  }),
  binary('GET /auth/oidc/:name/callback', {
    access: 'open',
    anyCredential: true,
    summary: 'Completes a sign-in at a provider.',
    handler: finish,
    query: { code: 'Code of the provider.', state: 'State of the sign-in.', iss: 'Issuer of the provider (RFC 9207).' },
    produces: { 302: { description: 'Redirects to the page that started the sign-in, or with `error` and `provider` if it failed.' } },
  }),
  binary('POST /auth/oidc/:name/backchannel-logout', {
    access: 'open',
    anyCredential: true,
    summary: 'Ends the sessions that a logout token of a provider names (OpenID Connect Back-Channel Logout).',
    admit: (context) => context.limits.use('oidc', logoutKey(context)),
    handler: logOut,
    accept: acceptForms,
    consumes: ['application/x-www-form-urlencoded'],
    produces: { 200: { description: 'The sessions have ended.' } },
  }),
  route('GET /api/auth/providers', '{ oidcProviders { name label signInUrl } signInSettings { passwordSignIn } }', {
    summary: 'The providers for signing in, and who may sign in with a password.',
    anyCredential: true,
  }),
  route('GET /api/auth/identities', `{ viewer { identities: linkedIdentities { ${identity} } } }`, {
    summary: 'Your linked identities.',
    answer: 'viewer',
    ...ofViewer,
    caller: 'ownAccount',
  }),
  route(
    'DELETE /api/auth/identities/:id',
    'mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { unlinkedIdentityId } }',
    {
      summary: 'Unlinks one of your identities.',
      ids: { id: 'LinkedIdentity' },
      names: { id: 'identityId' },
      answer: ok,
    },
  ),
  route('GET /api/admin/oidc-providers', `{ signInSettings { ${settings} } oidcProviders { ${provider} } }`, {
    summary: 'The settings of signing in, and the providers with their configuration, without secrets.',
    caller: 'admin',
  }),
  route(
    'POST /api/admin/oidc-providers',
    `mutation ($input: CreateOidcProviderInput!) { createOidcProvider(input: $input) { provider { ${provider} } } }`,
    {
      summary: 'Adds a sign-in provider.',
      status: 201,
      answer: 'createOidcProvider.provider',
    },
  ),
  route(
    'PATCH /api/admin/oidc-providers/:name',
    `mutation ($input: UpdateOidcProviderInput!) { updateOidcProvider(input: $input) { provider { ${provider} } } }`,
    { summary: 'Changes a sign-in provider.', answer: 'updateOidcProvider.provider' },
  ),
  route(
    'DELETE /api/admin/oidc-providers/:name',
    'mutation ($input: DeleteOidcProviderInput!) { deleteOidcProvider(input: $input) { deletedOidcProviderId } }',
    { summary: 'Deletes a sign-in provider.', answer: ok },
  ),
  route(
    'PUT /api/admin/oidc-providers/:name/group-rules',
    `mutation ($input: UpdateOidcGroupRulesInput!) { updateOidcGroupRules(input: $input) { provider { ${provider} } } }`,
    { summary: 'Replaces what the groups of a provider give.', answer: 'updateOidcGroupRules.provider' },
  ),
  route(
    'POST /api/admin/oidc-providers/:name/test',
    'mutation ($input: TestOidcProviderInput!) { testOidcProvider(input: $input) { isUsable findings } }',
    { summary: 'Checks the metadata and keys of a sign-in provider.', answer: 'testOidcProvider' },
  ),
]

const nameIn = ({ request }: Context): string => (request.params as { name: string }).name

const here = ({ request, config }: Context): string => publicUrl(request, config.SERVER_URL)

async function start(context: Context): Promise<unknown> {
  const { reply, request } = context
  const name = nameIn(context)
  reply.header('cache-control', noStore)
  const returnTo = safePath((request.query as { return_to?: unknown }).return_to, '/')
  const fail = (error: AttemptError) => {
    countSignInFailure(context, error)
    return reply.redirect(`${here(context)}${withQuery(loginPath(returnTo), { error, provider: name })}`)
  }
  const found = await findProvider(context, name)
  if (!found) return fail('unknown_provider')
  try {
    return await reply.redirect(await startAttempt(context, { provider: found, purpose: 'signIn', returnTo }))
  } catch (error) {
    if (isRateLimited(error)) return fail('rate_limited')
    if (error instanceof AttemptFailure) return fail(error.code)
    throw error
  }
}

async function finish(context: Context): Promise<unknown> {
  context.reply.header('cache-control', noStore)
  return context.reply.redirect(`${here(context)}${await finishAttempt(context, nameIn(context))}`)
}

/** Rejected logout tokens are limited apart from sign-ins. A provider that ends many sessions sends all its tokens from one address. */
const logoutKey = ({ ip }: Pick<Context, 'ip'>): string => `logout ${addressKey(ip)}`

async function logOut(context: Context): Promise<unknown> {
  const { reply, request } = context
  reply.header('cache-control', noStore)
  try {
    await logOutByProvider(context, nameIn(context), (request.body as { logout_token?: unknown } | undefined)?.logout_token)
    await context.limits.refund('oidc', logoutKey(context))
    return await reply.send()
  } catch (error) {
    if (error instanceof LogoutRejected) throw invalidInput(error.message)
    if (error instanceof AttemptFailure) throw serviceUnavailable('The keys of the provider cannot be read.')
    throw error
  }
}
