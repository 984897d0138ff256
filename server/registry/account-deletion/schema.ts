import { builder } from '../../platform/graphql/builder.ts'
import { done } from '../../platform/graphql/payload.ts'
import { UserRef } from '../../accounts/users/refs.ts'
import { deleteUser } from './service.ts'

builder.mutationField('deleteUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: "Deletes a user's account. Published packages stay. Always true.",
    typeOptions: { description: 'The account to delete.' },
    argOptions: { description: 'The account.' },
    input: { id: t.input.globalID({ required: true, for: [UserRef], description: 'The account.' }) },
    resolve: (_root, { input }, context) => done(deleteUser(context, input.id.id)),
  }),
)
