import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { inviteHours } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'
import { acceptInvite, inspectInvite, reinvite } from './service.ts'

/** Token of an invitation. Only its length is checked, since it is only hashed. */
const inviteToken = z.string().max(200, 'is not the token of an invitation')

const InviteRef = builder.objectRef<{ email: string; displayName: string; expiresAt: Date }>('Invite').implement({
  description: 'A pending invitation.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'E-mail address of the invited user.' }),
    displayName: t.exposeString('displayName', { description: 'Name entered by the administrator.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the invitation expires.' }),
  }),
})

builder.queryField('invite', (t) =>
  t.field({
    type: InviteRef,
    // Nullable, so that in a query for several invitations an error affects only one.
    nullable: true,
    description: 'The invitation with this token.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'inviteInspect' },
    args: { token: t.arg.string({ required: true, description: "The token in the invitation's URL.", validate: inviteToken }) },
    resolve: (_root, { token }, context) => inspectInvite(context, token),
  }),
)

builder.mutationField('acceptInvite', (t) =>
  t.fieldWithInput({
    type: payload('AcceptInvitePayload', 'The activated account.', {
      user: { type: UserRef, description: 'The account.' },
    }),
    description: 'Accepts an invitation by choosing a password. Sign in afterwards.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'inviteAccept' },
    typeOptions: { description: 'The invitation and the password to choose.' },
    argOptions: { description: 'The invitation and the password.' },
    input: {
      token: t.input.string({ required: true, description: "The token in the invitation's URL.", validate: inviteToken }),
      password: t.input.string({ required: true, description: 'Password to sign in with.' }),
    },
    resolve: async (_root, { input }, context) => ({ user: await acceptInvite(context, input.token, input.password) }),
  }),
)

builder.mutationField('createInvite', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('CreateInvitePayload', 'A new invitation, which replaces the previous one.', {
      user: { type: UserRef, description: 'The invited user.' },
      inviteUrl: { extensions: { secret: true }, type: 'String', description: 'URL of the invitation, shown only once.' },
      inviteExpiresInHours: { type: 'Int', description: 'Validity of the invitation in hours.' },
    }),
    description: 'Creates a new invitation for a user who has not accepted the previous one, and revokes the previous one.',
    typeOptions: { description: 'The user to invite again.' },
    argOptions: { description: 'The user, and the validity of the invitation.' },
    input: {
      userId: t.input.globalID({ required: true, for: [UserRef], description: 'The invited account.', ...formerly('id') }),
      expiresInHours: t.input.int({ description: 'Validity of the invitation, 1 to 720 hours. Default: 168.', validate: inviteHours }),
    },
    resolve: (_root, { input }, context) => reinvite(context, input.userId.id, input.expiresInHours ?? 168),
  }),
)
