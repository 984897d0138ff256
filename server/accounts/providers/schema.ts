import { z } from 'zod'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { builder } from '../../platform/graphql/builder.ts'
import { payload, wordEnum } from '../../platform/graphql/payload.ts'
import { beforeSecondFactor, requireRecentProof } from '../../platform/access/guards.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { canSeeBelongings, belongingsScope } from '../users/policy.ts'
import { AssignableRoleEnum, UserRef } from '../users/refs.ts'
import { inspectInvite } from '../invites/service.ts'
import type { LinkedIdentity } from './entity.ts'
import { loadIdentities, sameIssuer, unlinkIdentity } from './identities.ts'
import { listProviders, requireProvider } from './providers.ts'
import { LinkedIdentityRef, OidcProviderRef, ProviderRedirectPayload } from './refs.ts'
import { safePath, startAttemptFor } from './attempts.ts'

const administrators = { authScopes: { scope: 'admin' } } as const

const PasswordSignInEnum = wordEnum<'all' | 'owner'>('PasswordSignIn', 'Who may sign in with a password.', {
  all: 'Everyone who has a password.',
  owner: 'Only the owner of the server.',
})
const OidcSignUpEnum = wordEnum<'off' | 'domain' | 'group'>(
  'OidcSignUp',
  'Whether the first sign-in through a provider creates an account.',
  {
    off: 'It does not. Identities are linked by users, or while accepting an invitation.',
    domain: 'For verified e-mail addresses of certain domains.',
    group: 'For members of certain groups.',
  },
)

const SignInSettingsRef = builder.objectRef<object>('SignInSettings').implement({
  description: 'How users sign in to this server. Set by environment variables.',
  fields: (t) => ({
    passwordSignIn: t.field({
      type: PasswordSignInEnum,
      description: 'Who may sign in with a password.',
      resolve: (_settings, _args, { config }) => config.PASSWORD_SIGN_IN,
    }),
    oidcSignUp: t.field({
      ...administrators,
      type: OidcSignUpEnum,
      description: 'Whether the first sign-in through a provider creates an account; for administrators.',
      resolve: (_settings, _args, { config }) => config.OIDC_SIGNUP,
    }),
    oidcSignUpDomains: t.stringList({
      ...administrators,
      description: 'Domains whose e-mail addresses may sign up with `DOMAIN`; for administrators.',
      resolve: (_settings, _args, { config }) => config.OIDC_SIGNUP_DOMAINS,
    }),
    oidcSignUpGroups: t.stringList({
      ...administrators,
      description: 'Groups whose members may sign up with `GROUP`; for administrators.',
      resolve: (_settings, _args, { config }) => config.OIDC_SIGNUP_GROUPS,
    }),
    oidcDefaultRole: t.field({
      ...administrators,
      type: AssignableRoleEnum,
      description: 'Role of accounts that a provider creates, unless their groups give a higher one; for administrators.',
      resolve: (_settings, _args, { config }) => config.OIDC_DEFAULT_ROLE,
    }),
    oidcMaxIdleDays: t.int({
      ...administrators,
      description:
        'Days without a sign-in through a provider after which sessions of an account without a password end and its tokens pause; for administrators.',
      resolve: (_settings, _args, { config }) => config.OIDC_MAX_IDLE_DAYS,
    }),
  }),
})

builder.queryField('signInSettings', (t) =>
  t.field({
    type: SignInSettingsRef,
    description: 'How users sign in to this server.',
    skipTypeScopes: true,
    resolve: () => ({}),
  }),
)

builder.queryField('oidcProviders', (t) =>
  t.field({
    type: [OidcProviderRef],
    extensions: { size: 10 },
    description: 'The OpenID providers for signing in, sorted by label.',
    skipTypeScopes: true,
    resolve: (_root, _args, context) => listProviders(context),
  }),
)

builder.node(LinkedIdentityRef, {
  description: 'A person at an OpenID provider who signs in to an account.',
  id: { resolve: ({ id }) => id },
  loadOne: async (id, context) =>
    context.viewer && ((await loadIdentities(context, context.viewer.id)) ?? []).find((identity) => identity.id === id),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    issuer: t.exposeString('issuer', { description: 'Issuer of the provider.' }),
    subject: t.exposeString('subject', { description: 'Identifier of the person at the provider.' }),
    email: t.exposeString('email', {
      nullable: true,
      description: 'E-mail address at the last sign-in, to recognize the identity. Null if the provider sent none.',
    }),
    provider: t.field({
      type: OidcProviderRef,
      nullable: true,
      description: 'The provider; null if this server no longer has it.',
      resolve: async ({ issuer }, _args, context) =>
        (await listProviders(context)).find((provider) => sameIssuer(provider.issuer, issuer)) ?? null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the identity was linked.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'When the identity was last used to sign in.' }),
  }),
})

builder.objectField(UserRef, 'linkedIdentities', (t) =>
  t.field({
    type: [LinkedIdentityRef],
    nullable: true,
    extensions: { size: 10 },
    authScopes: (user, _args, context) => belongingsScope(user, context),
    description:
      'Linked identities, oldest first; null for other users than their owner and administrators. A token needs the scope WRITE.',
    resolve: async (user, _args, context) => (canSeeBelongings(context, user) ? ((await loadIdentities(context, user.id)) ?? []) : null),
  }),
)

builder.objectField(UserRef, 'hasPassword', (t) =>
  t.boolean({
    nullable: true,
    description: 'Whether the account has a password; null for other users than this user and administrators.',
    resolve: (user, _args, context) =>
      canSeeBelongings(context, user) ? (user.passwordHash === undefined ? (user.hasPassword ?? true) : user.passwordHash !== null) : null,
  }),
)

const returnTo = {
  description: 'Path of this server to return to, relative to SERVER_URL. After a failure it has the parameters `error` and `provider`.',
} as const
const providerText = 'Name of the provider.'
const nameOfProvider = z.string().max(32, 'is not the name of a provider')
const sessionOf = ({ credential }: SignedInContext): string => credential.id

builder.mutationField('linkIdentity', (t) =>
  t.withAuth({ $all: { session: true, signedIn: true } }).fieldWithInput({
    type: ProviderRedirectPayload,
    description: 'Starts linking your account to an identity at a provider. Requires a recent proof of who you are.',
    typeOptions: { description: 'The provider.' },
    argOptions: { description: 'The provider.' },
    input: {
      provider: t.input.string({ required: true, description: providerText, validate: nameOfProvider }),
      returnTo: t.input.string(returnTo),
    },
    resolve: async (_root, { input }, context) => {
      requireRecentProof(context)
      const start = { purpose: 'link', returnTo: safePath(input.returnTo, '/settings/security'), session: sessionOf(context) } as const
      return { redirectUrl: await startAttemptFor(context, { provider: await requireProvider(context, input.provider), ...start }) }
    },
  }),
)

builder.mutationField('confirmIdentity', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    ...beforeSecondFactor,
    type: ProviderRedirectPayload,
    description:
      'Starts a fresh sign-in at a provider. For the ten minutes after it, this session may perform operations that require a recent proof.',
    typeOptions: { description: 'The provider.' },
    argOptions: { description: 'The provider.' },
    input: {
      provider: t.input.string({ required: true, description: providerText, validate: nameOfProvider }),
      returnTo: t.input.string(returnTo),
    },
    resolve: async (_root, { input }, context) => {
      const start = { purpose: 'proof', returnTo: safePath(input.returnTo, '/'), session: sessionOf(context) } as const
      return { redirectUrl: await startAttemptFor(context, { provider: await requireProvider(context, input.provider), ...start }) }
    },
  }),
)

builder.mutationField('acceptInviteWithProvider', (t) =>
  t.fieldWithInput({
    type: ProviderRedirectPayload,
    description: 'Starts accepting an invitation with an identity at a provider instead of a password. Its end signs in.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'inviteAccept' },
    typeOptions: { description: 'The invitation and the provider.' },
    argOptions: { description: 'The invitation and the provider.' },
    input: {
      token: t.input.string({
        required: true,
        description: "The token in the invitation's URL.",
        validate: z.string().max(200, 'is not the token of an invitation'),
      }),
      provider: t.input.string({ required: true, description: providerText, validate: nameOfProvider }),
      returnTo: t.input.string(returnTo),
    },
    resolve: async (_root, { input }, context) => {
      await inspectInvite(context, input.token)
      const start = { purpose: 'invite', returnTo: safePath(input.returnTo, '/'), invite: input.token } as const
      return { redirectUrl: await startAttemptFor(context, { provider: await requireProvider(context, input.provider), ...start }) }
    },
  }),
)

builder.mutationField('unlinkIdentity', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: payload('UnlinkIdentityPayload', 'An identity that is no longer linked.', {
      unlinkedIdentityId: { type: 'ID', description: 'Global id of the identity.' },
    }),
    description: 'Unlinks one of your identities and ends the other sessions that it started. Your last way to sign in cannot be unlinked.',
    typeOptions: { description: 'The identity to unlink.' },
    argOptions: { description: 'The identity.' },
    input: { identityId: t.input.globalID({ required: true, for: [LinkedIdentityRef], description: 'Global id of the identity.' }) },
    resolve: async (_root, { input }, context) => {
      const { id }: LinkedIdentity = await unlinkIdentity(context, input.identityId.id)
      return { unlinkedIdentityId: encodeGlobalID('LinkedIdentity', id) }
    },
  }),
)
