import { builder } from '../graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { payload } from '../graphql/payload.ts'
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
    description: 'Whose it is.',
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
        'The tokens that are not revoked, newest first; null for anybody but their owner and administrators. A token needs the scope WRITE.',
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
      description: "Everybody's tokens that are not revoked, without their secrets; for administrators.",
      args: {
        user: t.arg.string({ description: 'Whose: e-mail address or plain identifier.' }),
        neverExpires: t.arg.boolean({ description: 'True: only tokens that never expire; false: only tokens that expire.' }),
        expiresBefore: t.arg({ type: 'DateTime', description: 'Only tokens that expire before this time.' }),
        expiresFrom: t.arg({ type: 'DateTime', description: 'Only tokens that expire at this time or later.' }),
        scope: t.arg({ type: TokenScope, description: 'Only tokens that were given this scope.' }),
        unusedSince: t.arg({
          type: 'DateTime',
          description: 'Only tokens that have not been used since this time; one that was never used counts from its creation.',
        }),
        orderBy: t.arg({ type: TokenOrderEnum, description: 'Order; CREATED when left out.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em }) => listTokens(em, args, args, orderBy ?? 'created'),
    },
    { description: "A page of everybody's tokens." },
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
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [AccessTokenRef], description: 'Its global id.' }) },
    resolve: async (_root, { input }, context) => ({ token: await revokeUserToken(context, input.id.id) }),
  }),
)
