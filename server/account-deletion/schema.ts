import { builder } from '../graphql/builder.ts'
import { done } from '../graphql/payload.ts'
import { UserRef } from '../users/refs.ts'
import { deleteUser } from './service.ts'

builder.mutationField('deleteUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: 'Boolean',
    description: "Deletes somebody's account; what they published stays. Always true.",
    typeOptions: { description: 'The account to delete.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [UserRef], description: 'Whose account.' }) },
    resolve: (_root, { input }, context) => done(deleteUser(context, input.id.id)),
  }),
)
