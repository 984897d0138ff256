import { builder } from '../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { UserRef } from '../../accounts/users/refs.ts'
import { deleteUser } from './service.ts'

builder.mutationField('deleteUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeleteUserPayload', 'An account that was deleted.', {
      deletedUserId: { type: 'ID', description: 'Global id of the account.' },
    }),
    extensions: { formerResult: true },
    description: "Deletes a user's account. Published packages stay.",
    typeOptions: { description: 'The account to delete.' },
    argOptions: { description: 'The account.' },
    input: { userId: t.input.globalID({ required: true, for: [UserRef], description: 'The account.', ...formerly('id') }) },
    resolve: (_root, { input }, context) =>
      done(deleteUser(context, input.userId.id), { deletedUserId: encodeGlobalID('User', input.userId.id) }),
  }),
)
