import { builder } from '../builder.ts'
import { UserRef } from '../users/refs.ts'
import { listTokens } from './list.ts'
import { TokenScope } from './refs.ts'
import { AccessTokenRef } from './schema.ts'

builder.objectField(AccessTokenRef, 'owner', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'Whose it is.',
    resolve: (token, _args, { people }) => people.load(token.user.id),
  }),
)

builder.objectField(UserRef, 'tokens', (t) =>
  t.connection(
    {
      type: AccessTokenRef,
      nullable: true,
      authScopes: { signedIn: true },
      description: 'The tokens that are not revoked, newest first; null for anybody but their owner and administrators.',
      resolve: (user, args, { em, viewer, scopes }) =>
        viewer?.id === user.id || scopes.has('admin') ? listTokens(em, { userId: user.id }, args) : null,
    },
    { description: 'A page of tokens.' },
    { description: 'A token in a page.' },
  ),
)

builder.queryField('accessTokens', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AccessTokenRef,
      description: "Everybody's tokens that are not revoked, newest first, without their secrets; for administrators.",
      args: {
        neverExpires: t.arg.boolean({ description: 'True: only tokens without an end; false: only such with one.' }),
        expiresBefore: t.arg({ type: 'DateTime', description: 'Only tokens that end before this moment.' }),
        expiresFrom: t.arg({ type: 'DateTime', description: 'Only tokens that end at this moment or later.' }),
        scope: t.arg({ type: TokenScope, description: 'Only tokens that were given this scope.' }),
        unusedSince: t.arg({
          type: 'DateTime',
          description: 'Only tokens that were not used since; one never used counts from when it was made.',
        }),
      },
      resolve: (_root, args, { em }) => listTokens(em, args, args),
    },
    { description: "A page of everybody's tokens." },
    { description: 'A token in a page.' },
  ),
)
