import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { basePath, publicUrl } from '../../platform/http/public-url.ts'
import { AssignableRoleEnum } from '../users/refs.ts'
import { readTest, type TestResult } from './callback.ts'
import { checkProvider } from './check.ts'
import { type GroupRule, type PublisherRole, readGroupRules } from './groups.ts'
import { findProvider, loadState, requireProvider } from './providers.ts'
import { OidcProviderRef, OidcPublisherRoleEnum, ruleTexts } from './refs.ts'
import { callbackUrl, safePath, startAttemptFor } from './attempts.ts'

const administrators = { authScopes: { scope: 'admin' } } as const

const GroupRuleRef = builder.objectRef<GroupRule>('OidcGroupRule').implement({
  description: 'What the members of a group of a provider get.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    group: t.exposeString('group', { description: ruleTexts.group }),
    role: t.expose('role', { type: AssignableRoleEnum, nullable: true, description: ruleTexts.role }),
    publisher: t.exposeString('publisher', { nullable: true, description: ruleTexts.publisher }),
    publisherRole: t.expose('publisherRole', { type: OidcPublisherRoleEnum, nullable: true, description: ruleTexts.publisherRole }),
  }),
})

builder.node(OidcProviderRef, {
  description: 'An OpenID provider for signing in.',
  id: { resolve: ({ name }) => name },
  loadOne: (name, context) => findProvider(context, name),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name in URLs.' }),
    label: t.exposeString('label', { description: 'Name on the sign-in page.' }),
    signInUrl: t.string({
      description: 'Path on this server that starts a sign-in. The parameter `return_to` is a path relative to SERVER_URL.',
      resolve: ({ name }, _args, { config }) => `${basePath(config.SERVER_URL)}/auth/oidc/${name}`,
    }),
    isFromEnvironment: t.exposeBoolean('isFromEnvironment', {
      ...administrators,
      description: 'Whether environment variables configure the provider, so that it cannot be changed here; for administrators.',
    }),
    issuer: t.exposeString('issuer', { ...administrators, description: 'The issuer; for administrators.' }),
    clientId: t.exposeString('clientId', { ...administrators, description: 'Client id of this server; for administrators.' }),
    hasClientSecret: t.boolean({
      ...administrators,
      description: 'Whether the provider has a client secret, which is never returned; for administrators.',
      resolve: ({ clientSecret, hasUnreadableSecret }) => clientSecret !== null || hasUnreadableSecret,
    }),
    scopes: t.exposeString('scopes', { ...administrators, description: 'Scopes to request, separated by spaces; for administrators.' }),
    groupsClaim: t.exposeString('groupsClaim', {
      ...administrators,
      nullable: true,
      description: 'Claim with the groups of a user; null if groups are not used. For administrators.',
    }),
    trustsSecondFactor: t.exposeBoolean('trustsSecondFactor', { ...administrators, description: `${ruleTexts.trust} For administrators.` }),
    redirectUri: t.string({
      ...administrators,
      description: 'Redirect URI to enter at the provider; for administrators.',
      resolve: ({ name }, _args, context) => callbackUrl(context, name),
    }),
    backchannelLogoutUri: t.string({
      ...administrators,
      description: 'Back-channel logout URI to enter at the provider; for administrators.',
      resolve: ({ name }, _args, { request, config }) => `${publicUrl(request, config.SERVER_URL)}/auth/oidc/${name}/backchannel-logout`,
    }),
  }),
})

builder.objectFields(OidcProviderRef, (t) => ({
  groupRules: t.field({
    ...administrators,
    type: [GroupRuleRef],
    extensions: { size: 20 },
    description: 'What groups of this provider give; for administrators.',
    resolve: ({ name }, _args, context) => readGroupRules(context, name),
  }),
  lastSuccessAt: t.field({
    ...administrators,
    type: 'DateTime',
    nullable: true,
    description: 'When a sign-in through the provider last succeeded; for administrators.',
    resolve: async ({ name }, _args, context) => (await loadState(context, name))?.lastSuccessAt ?? null,
  }),
  lastErrorAt: t.field({
    ...administrators,
    type: 'DateTime',
    nullable: true,
    description: 'When the provider last failed; for administrators.',
    resolve: async ({ name }, _args, context) => (await loadState(context, name))?.lastErrorAt ?? null,
  }),
  lastError: t.string({
    ...administrators,
    nullable: true,
    description: 'Why the provider last failed; for administrators.',
    resolve: async ({ name }, _args, context) => (await loadState(context, name))?.lastError ?? null,
  }),
}))

const MembershipRef = builder.objectRef<TestResult['memberships'][number]>('OidcTestMembership').implement({
  description: 'A membership that groups would give.',
  fields: (t) => ({
    publisher: t.exposeString('publisher', { description: 'Id of the publisher.' }),
    role: t.field({ type: OidcPublisherRoleEnum, description: 'The role in it.', resolve: ({ role }) => role as PublisherRole }),
  }),
})

const TestResultRef = builder.objectRef<TestResult>('OidcTestResult').implement({
  description: 'What a test sign-in received, and what it would give.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    provider: t.exposeString('provider', { description: 'Name of the provider.' }),
    claims: t.exposeString('claims', { description: 'The received claims, as JSON.' }),
    groups: t.exposeStringList('groups', { description: 'The groups among the claims.' }),
    hasTooManyGroups: t.exposeBoolean('hasTooManyGroups', {
      description: 'Whether the provider left the groups out because there are too many, so that roles and memberships do not change.',
    }),
    role: t.expose('role', {
      type: AssignableRoleEnum,
      nullable: true,
      description: 'Role that the groups would give to an account whose role they decide; null without groups.',
    }),
    memberships: t.expose('memberships', { type: [MembershipRef], description: 'Memberships that the groups would give.' }),
  }),
})

builder.mutationField('testOidcProvider', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('TestOidcProviderPayload', 'What a check of a provider found.', {
      isUsable: { type: 'Boolean', description: 'Whether the provider answered and its metadata is valid.' },
      findings: { type: ['String'], description: 'What is wrong or missing, as sentences.' },
      redirectUrl: {
        type: 'URL',
        nullable: true,
        extensions: { secret: true },
        description:
          'URL of the provider for a test sign-in, which changes nothing. It returns with the parameter `test` for `oidcTestResult`. Null for a provider that is not usable, and with an access token.',
      },
    }),
    description: 'Reads the metadata and keys of a provider, and starts a test sign-in.',
    typeOptions: { description: 'The provider to test.' },
    argOptions: { description: 'The provider.' },
    input: {
      name: t.input.string({ required: true, description: 'Name of the provider.' }),
      returnTo: t.input.string({
        description: 'Path of this server to return to, relative to SERVER_URL. Default: `/admin/sign-in`.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const provider = await requireProvider(context, input.name)
      const checked = await checkProvider(context, provider)
      const { credential } = context
      if (!checked.isUsable || credential.kind !== 'session') return { ...checked, redirectUrl: null }
      const returnTo = safePath(input.returnTo, '/admin/sign-in')
      return { ...checked, redirectUrl: await startAttemptFor(context, { provider, purpose: 'test', returnTo, session: credential.id }) }
    },
  }),
)

builder.queryField('oidcTestResult', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: TestResultRef,
    nullable: true,
    description: 'The result of a test sign-in of this session, for ten minutes; null without one.',
    args: { test: t.arg.string({ required: true, description: 'The parameter `test` of the page that the test returned to.' }) },
    resolve: (_root, { test }, context) => readTest(context, test),
  }),
)
