import { encodeGlobalID } from '@pothos/plugin-relay'
import { z } from 'zod'
import { label } from '../../accounts/users/input.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { done, payload, wordEnum } from '../../platform/graphql/payload.ts'
import { type IssuerPreset, TokenIssuer } from './entity.ts'
import { createIssuer, deleteIssuer, refreshIssuer, updateIssuer } from './issuers.ts'

const PresetEnum = wordEnum<IssuerPreset>('TokenIssuerPreset', 'Kind of a CI system, which determines how its tokens are read.', {
  github: 'GitHub Actions, on github.com, ghe.com or an Enterprise Server.',
  gitlab: 'GitLab CI, on gitlab.com or self-managed.',
  forgejo: 'Forgejo Actions.',
  buildkite: 'Buildkite.',
  circleci: 'CircleCI. Each organization has its own issuer.',
  bitbucket: 'Bitbucket Pipelines. Each workspace has its own issuer.',
  google: 'Service accounts of Google Cloud. Their e-mail address is the repository.',
  custom: 'Another system: claims as GitHub Actions has them, or the subject as the repository.',
})

/** The GraphQL type of issuers. Declared before it is implemented, because trusted publishers refer to it. */
export const TokenIssuerRef = builder.objectRef<TokenIssuer>('TokenIssuer')

builder.node(TokenIssuerRef, {
  description: 'A CI system whose jobs can authenticate with OpenID Connect tokens, if a trusted publisher names them.',
  authScopes: { scope: 'read' },
  id: { resolve: ({ id }) => id },
  loadOne: (id, { em, scopes }) => (scopes.has('read') ? em.findOne(TokenIssuer, { id }) : null),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    name: t.exposeString('name', { description: 'Display name, such as `GitHub Actions`.' }),
    issuerUrl: t.expose('url', { type: 'URL', description: 'URL of the issuer, exactly as in the claim `iss` of its tokens.' }),
    preset: t.expose('preset', { type: PresetEnum, description: 'Kind of the CI system.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the issuer was added.' }),
    keysFetchedAt: t.expose('keysFetchedAt', { type: 'DateTime', description: 'When the public keys of the issuer were last fetched.' }),
    keyProblem: t.exposeString('keyProblem', {
      nullable: true,
      description: 'Why the last attempt to fetch the keys failed; null after a success.',
    }),
  }),
})

builder.queryField('tokenIssuers', (t) =>
  t.withAuth({ scope: 'read' }).field({
    extensions: { size: 10 },
    type: [TokenIssuerRef],
    description: 'The CI systems whose jobs can authenticate, by name.',
    resolve: (_root, _args, { em }) => em.find(TokenIssuer, {}, { orderBy: { name: 'asc', id: 'asc' } }),
  }),
)

const issuerPayload = payload('TokenIssuerPayload', 'An issuer after a change.', {
  tokenIssuer: { type: TokenIssuerRef, description: 'The issuer.' },
})

const issuerUrl = z
  .string()
  .max(500, 'must be at most 500 characters long')
  .refine((text) => isIssuerUrl(text), 'must be an http or https address without a password, query, fragment or trailing slash')

function isIssuerUrl(text: string): boolean {
  const url = /^https?:\/\/[^\s\\?#]+$/i.test(text) ? URL.parse(text) : null
  return url !== null && url.hostname !== '' && !url.username && !url.password && !text.endsWith('/')
}

const issuerName = label(100)

builder.mutationField('createTokenIssuer', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: issuerPayload,
    description:
      'Adds a CI system and fetches its public keys. Its jobs can then authenticate if a trusted publisher names them. Requires a recent proof of identity.',
    typeOptions: { description: 'The issuer to add.' },
    argOptions: { description: 'The issuer.' },
    input: {
      name: t.input.string({ required: true, description: 'Display name, such as `GitHub Actions`.', validate: issuerName }),
      issuerUrl: t.input.string({
        required: true,
        description:
          'URL of the issuer, exactly as in the claim `iss`. Its keys are found by `/.well-known/openid-configuration` below it.',
        validate: issuerUrl,
      }),
      preset: t.input.field({ type: PresetEnum, required: true, description: 'Kind of the CI system.' }),
    },
    resolve: async (_root, { input }, context) => {
      requireRecentProof(context)
      return { tokenIssuer: await createIssuer(context, input) }
    },
  }),
)

builder.mutationField('updateTokenIssuer', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: issuerPayload,
    description: 'Renames a CI system. Its URL cannot be changed. Requires a recent proof of identity.',
    typeOptions: { description: 'The issuer and its new name.' },
    argOptions: { description: 'The issuer and its new name.' },
    input: {
      tokenIssuerId: t.input.globalID({ required: true, for: [TokenIssuerRef], description: 'Issuer.' }),
      name: t.input.string({ required: true, description: 'Display name.', validate: issuerName }),
    },
    resolve: async (_root, { input }, context) => {
      requireRecentProof(context)
      return { tokenIssuer: await updateIssuer(context, input.tokenIssuerId.id, input.name) }
    },
  }),
)

builder.mutationField('refreshTokenIssuer', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: issuerPayload,
    description: 'Fetches the public keys of a CI system now. If that fails, `keyProblem` has the reason, and the present keys stay.',
    typeOptions: { description: 'The issuer.' },
    argOptions: { description: 'The issuer.' },
    input: { tokenIssuerId: t.input.globalID({ required: true, for: [TokenIssuerRef], description: 'Issuer.' }) },
    resolve: async (_root, { input }, context) => ({ tokenIssuer: await refreshIssuer(context, input.tokenIssuerId.id) }),
  }),
)

builder.mutationField('deleteTokenIssuer', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeleteTokenIssuerPayload', 'An issuer that was deleted.', {
      deletedTokenIssuerId: { type: 'ID', description: 'Global id of the issuer.' },
    }),
    description:
      'Removes a CI system with all trusted publishers that name it. Its tokens are no longer accepted. Requires a recent proof of identity.',
    typeOptions: { description: 'The issuer to remove.' },
    argOptions: { description: 'The issuer to remove.' },
    input: { tokenIssuerId: t.input.globalID({ required: true, for: [TokenIssuerRef], description: 'Issuer.' }) },
    resolve: (_root, { input: { tokenIssuerId } }, context) => {
      requireRecentProof(context)
      return done(deleteIssuer(context, tokenIssuerId.id), { deletedTokenIssuerId: encodeGlobalID('TokenIssuer', tokenIssuerId.id) })
    },
  }),
)
