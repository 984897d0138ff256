import { z } from 'zod'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { oidcIssuer, oidcScopes, oidcTexts } from '../../platform/config/oidc-variables.ts'
import { AssignableRoleEnum } from '../users/refs.ts'
import { type GroupRule, writeGroupRules } from './groups.ts'
import { createProvider, deleteProvider, requireProvider, updateProvider } from './providers.ts'
import { OidcProviderRef, OidcPublisherRoleEnum, ruleTexts } from './refs.ts'

const ProviderPayload = payload('OidcProviderPayload', 'A sign-in provider after the change.', {
  provider: { type: OidcProviderRef, description: 'The provider.' },
})

const secretText = 'Client secret, which is stored encrypted and never returned.'
const isSecret = { extensions: { maxLength: 1000 } }

builder.mutationField('createOidcProvider', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: ProviderPayload,
    description: 'Adds a sign-in provider. Requires a recent proof of who you are.',
    typeOptions: { description: 'The provider to add.' },
    argOptions: { description: 'The provider.' },
    input: {
      name: t.input.string({ required: true, description: 'Name in URLs: at most 32 lower-case letters, digits and underscores.' }),
      label: t.input.string({ description: 'Name on the sign-in page. Default: the name.', validate: oidcTexts.label.nullish() }),
      issuer: t.input.string({
        required: true,
        description: 'The issuer. The setting TOKEN_ISSUER_HOSTS must list a host with a private address.',
        validate: oidcIssuer,
      }),
      clientId: t.input.string({ required: true, description: 'Client id of this server.', validate: oidcTexts.clientId }),
      clientSecret: t.input.string({ description: secretText, validate: oidcTexts.clientSecret.nullish(), ...isSecret }),
      scopes: t.input.string({ description: 'Scopes to request. Default: `openid email profile`.', validate: oidcScopes.nullish() }),
      groupsClaim: t.input.string({ description: 'Claim with the groups of a user.', validate: oidcTexts.groupsClaim.nullish() }),
      trustsSecondFactor: t.input.boolean({ description: `${ruleTexts.trust} Default: false.` }),
    },
    resolve: async (_root, { input }, context) => {
      const { name, issuer, clientId, label, scopes, clientSecret = null, groupsClaim = null } = input
      const given = { ...(label != null && { label }), ...(scopes != null && { scopes }) }
      const trustsSecondFactor = input.trustsSecondFactor ?? false
      return {
        provider: await createProvider(context, { name, issuer, clientId, clientSecret, groupsClaim, trustsSecondFactor, ...given }),
      }
    },
  }),
)

builder.mutationField('updateOidcProvider', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: ProviderPayload,
    description: 'Changes a sign-in provider that is not configured by environment variables. Requires a recent proof of who you are.',
    typeOptions: { description: 'Changes to a provider.' },
    argOptions: { description: 'The changes. Omitted members stay unchanged.' },
    input: {
      name: t.input.string({ required: true, description: 'Name of the provider.' }),
      label: t.input.string({ description: 'Name on the sign-in page.', validate: oidcTexts.label.nullish() }),
      issuer: t.input.string({ description: 'The issuer.', validate: oidcIssuer.nullish() }),
      clientId: t.input.string({ description: 'Client id of this server.', validate: oidcTexts.clientId.nullish() }),
      clientSecret: t.input.string({
        description: `${secretText} Null removes it.`,
        validate: oidcTexts.clientSecret.nullish(),
        ...isSecret,
      }),
      scopes: t.input.string({ description: 'Scopes to request.', validate: oidcScopes.nullish() }),
      groupsClaim: t.input.string({
        description: 'Claim with the groups of a user. Null removes it.',
        validate: oidcTexts.groupsClaim.nullish(),
      }),
      trustsSecondFactor: t.input.boolean({ description: ruleTexts.trust }),
    },
    resolve: async (_root, { input: { name, clientSecret, groupsClaim, ...others } }, context) => {
      const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value != null))
      const nullable = { ...(clientSecret !== undefined && { clientSecret }), ...(groupsClaim !== undefined && { groupsClaim }) }
      return { provider: await updateProvider(context, name, { ...given, ...nullable }) }
    },
  }),
)

builder.mutationField('deleteOidcProvider', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeleteOidcProviderPayload', 'A provider that was deleted.', {
      deletedOidcProviderId: { type: 'ID', description: 'Global id of the provider.' },
    }),
    description:
      'Deletes a sign-in provider. Identities stay linked, and work again if it is added again. Requires a recent proof of who you are.',
    typeOptions: { description: 'The provider to delete.' },
    argOptions: { description: 'The provider.' },
    input: { name: t.input.string({ required: true, description: 'Name of the provider.' }) },
    resolve: async (_root, { input }, context) => {
      await deleteProvider(context, input.name)
      return { deletedOidcProviderId: encodeGlobalID('OidcProvider', input.name) }
    },
  }),
)

const maxRules = 500
const GroupRuleInput = builder.inputType('OidcGroupRuleInput', {
  description: 'What the members of a group of a provider get: a role, a role in a publisher, or both.',
  fields: (t) => ({
    group: t.string({
      required: true,
      description: ruleTexts.group,
      validate: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters long'),
    }),
    role: t.field({ type: AssignableRoleEnum, description: ruleTexts.role }),
    publisher: t.string({
      description: ruleTexts.publisher,
      validate: z
        .string()
        .regex(/^[a-z0-9.-]{1,64}$/, 'must be the id of a publisher')
        .nullish(),
    }),
    publisherRole: t.field({ type: OidcPublisherRoleEnum, description: ruleTexts.publisherRole }),
  }),
})

builder.mutationField('updateOidcGroupRules', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: ProviderPayload,
    description:
      'Replaces what the groups of a provider give, also for one that environment variables configure. It applies at the next sign-in of each user. Requires a recent proof of who you are.',
    typeOptions: { description: 'The rules of a provider.' },
    argOptions: { description: 'The provider and all its rules.' },
    input: {
      name: t.input.string({ required: true, description: 'Name of the provider.' }),
      rules: t.input.field({
        type: [GroupRuleInput],
        required: true,
        description: 'The rules. They replace all previous ones.',
        validate: z.array(z.unknown()).max(maxRules, `must have at most ${maxRules} entries`),
      }),
    },
    resolve: async (_root, { input }, context) => {
      const provider = await requireProvider(context, input.name)
      const rules = input.rules.map(({ group, role = null, publisher = null, publisherRole = null }): GroupRule => {
        return { group, role, publisher, publisherRole: publisher === null ? null : (publisherRole ?? 'member') }
      })
      await writeGroupRules(context, provider.name, rules)
      return { provider }
    },
  }),
)
