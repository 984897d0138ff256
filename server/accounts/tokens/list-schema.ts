import { builder } from '../../platform/graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { belongingsScope, canSeeBelongings } from '../users/policy.ts'
import { UserRef } from '../users/refs.ts'
import { revokeUserToken } from './administer.ts'
import { listTokens } from './list.ts'
import { TokenScope } from './refs.ts'
import { AccessTokenRef } from './schema.ts'

builder.objectField(AccessTokenRef, 'owner', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'Owner of the token.',
    resolve: (token, _args, context) => loadUser(context, token.user.id),
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
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listTokens(context.em, { user: user.id }, args) : null),
    },
    { description: 'A page of tokens.' },
    { description: 'A token in a page.' },
  ),
)

const TokenOrderEnum = builder.enumType('TokenOrder', {
  description: 'How to sort tokens.',
  values: {
    CREATED: { value: 'created', description: 'Newest first.' },
    EXPIRES: { value: 'expires', description: 'Expiring soonest first; tokens that never expire last.' },
  },
})

builder.queryField('accessTokens', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AccessTokenRef,
      description: 'The tokens of all users that are not revoked, without secrets; for administrators.',
      args: {
        user: t.arg.string({ description: 'Only tokens of this user: e-mail address or plain identifier.' }),
        neverExpires: t.arg.boolean({ description: 'True: only tokens that never expire; false: only tokens that expire.' }),
        expiresBefore: t.arg({ type: 'DateTime', description: 'Only tokens that expire before this time.' }),
        expiresFrom: t.arg({ type: 'DateTime', description: 'Only tokens that expire at this time or later.' }),
        scope: t.arg({ type: TokenScope, description: 'Only tokens with this scope.' }),
        unusedSince: t.arg({
          type: 'DateTime',
          description: 'Only tokens that have not been used since this time. For tokens that were never used, the time of creation counts.',
        }),
        orderBy: t.arg({ type: TokenOrderEnum, description: 'Sort order. Default: CREATED.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em }) => listTokens(em, args, args, orderBy ?? 'created'),
    },
    { description: 'A page of tokens of all users.' },
    { description: 'A token in a page.' },
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
    input: { id: t.input.globalID({ required: true, for: [AccessTokenRef], description: 'Global id of the token.' }) },
    resolve: async (_root, { input }, context) => ({ token: await revokeUserToken(context, input.id.id) }),
  }),
)
