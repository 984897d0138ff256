import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { inviteHours, password } from '../users/input.ts'
import { type PublicUser, UserRef } from '../users/refs.ts'
import { acceptInvite, inspectInvite, reinvite } from './service.ts'

/** A token as it comes in an address; whatever it is, it is only hashed. */
const inviteToken = z.string().max(200, 'is not the token of an invitation')

const InviteRef = builder.objectRef<{ email: string; displayName: string; expiresAt: Date }>('Invite').implement({
  description: 'An invitation that waits for its person.',
  fields: (t) => ({
    email: t.exposeString('email', { description: 'Whom it is for.' }),
    displayName: t.exposeString('displayName', { description: 'What the administrator called them.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it stops working.', resolve: ({ expiresAt }) => expiresAt }),
  }),
})

builder.queryField('invite', (t) =>
  t.field({
    type: InviteRef,
    // So that of several asked for at once, each answers for itself.
    nullable: true,
    description: 'The invitation behind a token.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true },
    args: { token: t.arg.string({ required: true, description: "The token in the invitation's address.", validate: inviteToken }) },
    resolve: (_root, { token }, context) => inspectInvite(context, token),
  }),
)

const AcceptInviteInput = builder.inputType('AcceptInviteInput', {
  description: 'The invitation and the password to choose.',
  fields: (t) => ({
    token: t.string({ required: true, description: "The token in the invitation's address.", validate: inviteToken }),
    password: t.string({ required: true, description: 'Password to sign in with.', validate: password }),
  }),
})

const AcceptInvitePayload = builder.objectRef<{ user: PublicUser }>('AcceptInvitePayload').implement({
  description: 'An account that is active now.',
  fields: (t) => ({ user: t.expose('user', { type: UserRef, description: 'The account. Sign in next.' }) }),
})

builder.mutationField('acceptInvite', (t) =>
  t.field({
    type: AcceptInvitePayload,
    description: 'Accepts an invitation by choosing a password. Sign in afterwards.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true },
    args: { input: t.arg({ type: AcceptInviteInput, required: true, description: 'Invitation and password.' }) },
    resolve: async (_root, { input }, context) => {
      return { user: await acceptInvite(context, input.token, input.password) }
    },
  }),
)

const CreateInviteInput = builder.inputType('CreateInviteInput', {
  description: 'Whom to invite again.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [UserRef], description: 'An account that was not accepted yet.' }),
    expiresInHours: t.int({ description: 'Life of the invitation, 1 to 720 hours; 168 when left out.', validate: inviteHours }),
  }),
})

const CreateInvitePayload = builder
  .objectRef<{ user: PublicUser; inviteUrl: string; inviteExpiresInHours: number }>('CreateInvitePayload')
  .implement({
    description: 'A new invitation; the one before it is dead.',
    fields: (t) => ({
      user: t.expose('user', { type: UserRef, description: 'Whom it is for.' }),
      inviteUrl: t.exposeString('inviteUrl', { description: 'Its address, shown this once.' }),
      inviteExpiresInHours: t.exposeInt('inviteExpiresInHours', { description: 'Its life in hours.' }),
    }),
  })

builder.mutationField('createInvite', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: CreateInvitePayload,
    description: 'Invites somebody again who has not accepted yet; the old invitation stops working.',
    args: { input: t.arg({ type: CreateInviteInput, required: true, description: 'Whom, and for how long.' }) },
    resolve: (_root, { input }, context) => reinvite(context, input.id.id, input.expiresInHours ?? 168),
  }),
)
