import { builder } from '../../platform/graphql/builder.ts'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { connectionOf, done, payload } from '../../platform/graphql/payload.ts'
import { connectionOrders, newestByDefault } from '../../platform/graphql/types.ts'
import { visibleBelongings, belongingsScope, canSeeBelongings } from '../users/policy.ts'
import type { Scope, TokenAction } from '../../platform/access/roles.ts'
import { AccessToken } from './entity.ts'
import {
  AccessTokenRef,
  createdToken,
  limitTexts,
  rotatedToken,
  rotationInputs,
  tokenId,
  tokenInputs,
  TokenActionEnum,
  TokenScope,
} from './refs.ts'
import { revokeBySecret, revokeToken, revokeUserToken } from './revoke.ts'
import { rotateToken } from './rotate.ts'
import { createToken, listTokens, type TokenOrder } from './service.ts'
import { isIdleUser, loadUser } from '../users/service.ts'
import { UserRef, UserReference, referencedUser } from '../users/refs.ts'

builder.node(AccessTokenRef, {
  description: 'A personal access token, without its secret.',
  id: { resolve: (token) => token.id },
  loadOne: (id, context) => {
    const seen = visibleBelongings(context)
    return seen && context.em.findOne(AccessToken, { ...seen, id })
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    name: t.exposeString('name', { description: 'Name chosen by the owner.' }),
    prefix: t.exposeString('prefix', { description: 'First characters of the secret, to distinguish tokens.' }),
    scopes: t.field({
      extensions: { size: 3 },
      type: [TokenScope],
      description: "The granted scopes. The owner's role may currently allow less.",
      resolve: (token) => token.scopes.split(',') as Scope[],
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the token was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token expires; null if it never expires.',
    }),
    isExpired: t.boolean({
      description: 'Whether the token has expired, so that it is not accepted any more.',
      resolve: ({ expiresAt }, _args, { now }) => expiresAt != null && expiresAt <= now(),
    }),
    isPaused: t.boolean({
      description: 'Whether the token is not accepted until its owner signs in again.',
      resolve: async ({ user }, _args, context) => {
        const owner = await loadUser(context, user.id)
        return owner != null && isIdleUser(owner, context)
      },
    }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'When the token was last used, to the minute.' }),
    owner: t.field({
      type: UserRef,
      nullable: true,
      description: 'Owner of the token.',
      resolve: ({ user }, _args, context) => loadUser(context, user.id),
    }),
  }),
})

builder.objectFields(AccessTokenRef, (t) => ({
  packages: t.stringList({
    nullable: true,
    extensions: { size: 10 },
    description: `${limitTexts.packages} Null if it covers all.`,
    resolve: ({ packages }) => packages?.split(','),
  }),
  actions: t.field({
    type: [TokenActionEnum],
    nullable: true,
    extensions: { size: 3 },
    description: `${limitTexts.actions} Null if the scopes alone limit it.`,
    resolve: ({ actions }) => actions?.split(',') as TokenAction[] | undefined,
  }),
  addresses: t.stringList({
    nullable: true,
    extensions: { size: 10 },
    description: `${limitTexts.addresses} Null if it works from everywhere.`,
    resolve: ({ addresses }) => addresses?.split(','),
  }),
  previousSecretExpiresAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'Until when the secret before the last rotation still works; null if it does not.',
    resolve: ({ previousExpiresAt }, _args, { now }) => (previousExpiresAt && previousExpiresAt > now() ? previousExpiresAt : null),
  }),
}))

builder.mutationField('createToken', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: payload('CreateTokenPayload', 'A new token.', createdToken),
    description: 'Creates a personal access token for you. The secret is shown only once.',
    typeOptions: { description: 'The token to create.' },
    argOptions: { description: 'Name, scopes, limits and lifetime of the token.' },
    input: tokenInputs(t.input, 'your role'),
    resolve: (_root, { input }, context) => createToken(context, input),
  }),
)

builder.mutationField('rotateToken', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: payload('RotateTokenPayload', 'A token with a new secret.', rotatedToken),
    description:
      'Gives one of your access tokens a new secret, which is shown only once. The previous secret works until the overlap ends. A token may rotate itself and the tokens that were created with it.',
    typeOptions: { description: 'The token to rotate.' },
    argOptions: { description: 'The token, the overlap and the new lifetime.' },
    input: rotationInputs(t.input),
    resolve: (_root, { input: { tokenId, ...input } }, context) => rotateToken(context, { ...input, id: tokenId.id }),
  }),
)

builder.mutationField('revokeToken', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: payload('RevokeTokenPayload', 'A token that was revoked.', {
      token: { type: AccessTokenRef, description: 'The revoked token.' },
    }),
    description: 'Permanently revokes one of your access tokens, and the tokens that were created with it.',
    typeOptions: { description: 'The token to revoke.' },
    argOptions: { description: 'The token.' },
    input: {
      tokenId: t.input.globalID({ ...tokenId, ...formerly('id') }),
    },
    resolve: async (_root, { input }, context) => ({ token: await revokeToken(context, input.tokenId.id) }),
  }),
)

builder.mutationField('revokeTokenBySecret', (t) =>
  t.fieldWithInput({
    type: payload('RevokeTokenBySecretPayload', 'The result of revoking a leaked token.', {
      isAccepted: { type: 'Boolean', description: 'Always true, even if there is no such token.' },
    }),
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'tokenRevocation', formerResult: true },
    description:
      'Revokes the token with this secret, and the tokens that were created with it. Anyone who found the secret may do this without signing in.',
    typeOptions: { description: 'A leaked secret.' },
    argOptions: { description: 'The secret.' },
    input: { secret: t.input.string({ required: true, description: 'The complete secret.' }) },
    resolve: (_root, { input }, context) => done(revokeBySecret(context, input.secret), { isAccepted: true }),
  }),
)

builder.objectField(UserRef, 'tokens', (t) =>
  t.connection(
    {
      type: AccessTokenRef,
      nullable: true,
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description:
        'Tokens that are not revoked, newest first; null for other users than their owner and administrators. A token needs the scope WRITE.',
      args: { direction: t.arg(newestByDefault) },
      resolve: (user, { direction, ...page }, context) =>
        canSeeBelongings(context, user)
          ? listTokens(context.em, { user: user.id }, page, { by: 'created', direction: direction ?? 'desc' })
          : null,
    },
    connectionOf(AccessTokenRef),
  ),
)

const tokenOrders = connectionOrders<TokenOrder>('TokenOrder', 'How to sort tokens.', 'created', {
  created: { description: 'By time of creation.', direction: 'desc' },
  expires: { description: 'By time of expiry; tokens that never expire after all others.', direction: 'asc' },
})

builder.queryField('accessTokens', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AccessTokenRef,
      description: 'The tokens of all users that are not revoked, without secrets; for administrators.',
      args: {
        user: t.arg({ type: UserReference, description: 'Only tokens of this user.' }),
        neverExpires: t.arg.boolean({ description: 'True: only tokens that never expire; false: only tokens that expire.' }),
        expiresBefore: t.arg({ type: 'DateTime', description: 'Only tokens that expire before this time.' }),
        expiresFrom: t.arg({ type: 'DateTime', description: 'Only tokens that expire at this time or later.' }),
        scope: t.arg({ type: TokenScope, description: 'Only tokens with this scope.' }),
        unusedSince: t.arg({
          type: 'DateTime',
          description: 'Only tokens that have not been used since this time. For tokens that were never used, the time of creation counts.',
        }),
        ...tokenOrders.args,
      },
      resolve: (_root, args, { em }) => listTokens(em, { ...args, user: referencedUser(args.user) }, args, tokenOrders.sortOf(args)),
    },
    connectionOf(AccessTokenRef),
  ),
)

builder.mutationField('revokeUserToken', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RevokeUserTokenPayload', 'A token that was revoked.', {
      token: { type: AccessTokenRef, description: 'The revoked token.' },
    }),
    description: "Permanently revokes a user's access token, for administrators. Tokens of the owner cannot be revoked.",
    typeOptions: { description: "The token to revoke; it may be another user's." },
    argOptions: { description: 'The token.' },
    input: {
      tokenId: t.input.globalID({ ...tokenId, ...formerly('id') }),
    },
    resolve: async (_root, { input }, context) => ({ token: await revokeUserToken(context, input.tokenId.id) }),
  }),
)
