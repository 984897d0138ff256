import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { inviteHours } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'
import { byServerAdmin } from './policy.ts'
import { acceptInvite, inspectInvite, reinvite } from './service.ts'

/** A token as it comes in an address; whatever it is, it is only hashed. */
const inviteToken = z.string().max(200, 'is not the token of an invitation')

const InviteRef = builder.objectRef<{ email: string; displayName: string; expiresAt: Date }>('Invite').implement({
  description: 'An invitation that waits for its person.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'Whom it is for.' }),
    displayName: t.exposeString('displayName', { description: 'Name that the administrator entered.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it stops working.' }),
  }),
})

builder.queryField('invite', (t) =>
  t.field({
    type: InviteRef,
    // So that of several asked for at once, each answers for itself.
    nullable: true,
    description: 'The invitation behind a token.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'inviteInspect' },
    args: { token: t.arg.string({ required: true, description: "The token in the invitation's address.", validate: inviteToken }) },
    resolve: (_root, { token }, context) => inspectInvite(context, token),
  }),
)

builder.mutationField('acceptInvite', (t) =>
  t.fieldWithInput({
    type: payload('AcceptInvitePayload', 'An account that is active now.', {
      user: { type: UserRef, description: 'The account. Sign in next.' },
    }),
    description: 'Accepts an invitation by choosing a password. Sign in afterwards.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'inviteAccept' },
    typeOptions: { description: 'The invitation and the password to choose.' },
    argOptions: { description: 'Invitation and password.' },
    input: {
      token: t.input.string({ required: true, description: "The token in the invitation's address.", validate: inviteToken }),
      password: t.input.string({ required: true, description: 'Password to sign in with.' }),
    },
    resolve: async (_root, { input }, context) => ({ user: await acceptInvite(context, input.token, input.password) }),
  }),
)

builder.mutationField('createInvite', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('CreateInvitePayload', 'A new invitation, which replaces the previous one.', {
      user: { type: UserRef, description: 'Whom it is for.' },
      inviteUrl: { extensions: { secret: true }, type: 'String', description: 'Its URL, shown only once.' },
      inviteExpiresInHours: { type: 'Int', description: 'Its lifetime in hours.' },
    }),
    description: 'Creates a new invitation for a user who has not accepted the previous one, which stops working.',
    typeOptions: { description: 'Whom to invite again.' },
    argOptions: { description: 'Whom, and for how long.' },
    input: {
      id: t.input.globalID({ required: true, for: [UserRef], description: 'The invited account.' }),
      expiresInHours: t.input.int({ description: 'Life of the invitation, 1 to 720 hours; 168 when left out.', validate: inviteHours }),
    },
    resolve: (_root, { input }, context) => reinvite(context, input.id.id, input.expiresInHours ?? 168),
  }),
)
