import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { label } from '../users/input.ts'
import { mayChangeOwnAccount } from '../roles/viewer.ts'
import { type Scope } from '../roles/roles.ts'
import { AccessToken } from './entity.ts'
import { TokenScope } from './refs.ts'
import { revokeBySecret, revokeToken } from './revoke.ts'
import { createToken, type IssuedToken } from './service.ts'

export const AccessTokenRef = builder.objectRef<AccessToken>('AccessToken')
builder.node(AccessTokenRef, {
  description: 'A personal access token, without its secret.',
  id: { resolve: (token) => token.id },
  loadOne: (id, context) => {
    const { em, viewer, scopes } = context
    if (scopes.has('admin')) return em.findOne(AccessToken, { id })
    return viewer && mayChangeOwnAccount(context) ? em.findOne(AccessToken, { id, user: viewer.id }) : null
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, as REST shows it in `id`.' }),
    name: t.exposeString('name', { description: 'What its owner calls it.' }),
    prefix: t.exposeString('prefix', { description: 'The first characters of the secret, to tell tokens apart.' }),
    scopes: t.field({
      extensions: { size: 3 },
      type: [TokenScope],
      description: "What it was made for; its owner's role may allow less by now.",
      resolve: (token) => token.scopes.split(',') as Scope[],
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was made.', resolve: (token) => token.createdAt }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it stops working; null for never.',
      resolve: (token) => token.expiresAt ?? null,
    }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute.',
      resolve: (token) => token.lastUsedAt ?? null,
    }),
  }),
})

const IssuedTokenRef = builder.objectRef<IssuedToken>('CreateTokenPayload').implement({
  description: 'A new token.',
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'The secret: shown this once, and never again.' }),
    token: t.expose('token', { type: AccessTokenRef, description: 'The token itself.' }),
  }),
})

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'The token to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What to call it.', validate: label(100) }),
    scopes: t.field({ type: [TokenScope], description: 'What it may do, clamped to your role; READ and WRITE when left out.' }),
    expiresInDays: t.int({
      description: 'Its life in days. When left out, it never expires, or lives as long as the server allows (Server.tokenMaxDays).',
      validate: z.int().min(1, 'must be at least 1').max(3650, 'must be at most 3650').nullish(),
    }),
  }),
})

builder.mutationField('createToken', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: IssuedTokenRef,
    description: 'Makes a personal access token for you. The secret is shown this once.',
    args: { input: t.arg({ type: CreateTokenInput, required: true, description: 'What it may do and how long.' }) },
    resolve: (_root, { input }, context) => createToken(context, input),
  }),
)

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'The token to revoke.',
  fields: (t) => ({ id: t.globalID({ required: true, for: [AccessTokenRef], description: 'Its global id.' }) }),
})

const RevokeTokenPayload = builder.objectRef<{ token: AccessToken }>('RevokeTokenPayload').implement({
  description: 'A token that was revoked.',
  fields: (t) => ({ token: t.expose('token', { type: AccessTokenRef, description: 'The revoked token.' }) }),
})

builder.mutationField('revokeToken', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: RevokeTokenPayload,
    description: 'Revokes one of your tokens at once and for good, together with the tokens that were made with it.',
    args: { input: t.arg({ type: RevokeTokenInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => ({ token: await revokeToken(context, input.id.id) }),
  }),
)

const RevokeTokenBySecretInput = builder.inputType('RevokeTokenBySecretInput', {
  description: 'A secret that somebody found.',
  fields: (t) => ({
    secret: t.string({
      required: true,
      description: 'The whole of it.',
      validate: z.string().max(1024, 'must be at most 1024 characters long'),
    }),
  }),
})

builder.mutationField('revokeTokenBySecret', (t) =>
  t.boolean({
    skipTypeScopes: true,
    extensions: { ownOrigin: true },
    description:
      'Revokes the token with this secret, and the tokens that were made with it. Whoever found one may do that without signing in. Always true, also when there is no such token.',
    args: { input: t.arg({ type: RevokeTokenBySecretInput, required: true, description: 'The secret.' }) },
    resolve: async (_root, { input }, context) => {
      await revokeBySecret(context, input.secret)
      return true
    },
  }),
)
