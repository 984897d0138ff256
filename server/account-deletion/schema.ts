import { builder } from '../graphql/builder.ts'
import { done } from '../graphql/payload.ts'
import { UserRef } from '../users/refs.ts'
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
