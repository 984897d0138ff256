import { builder } from '../graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { payload } from '../graphql/payload.ts'
import { UserRef } from '../users/refs.ts'
import { listAllSessions, revokeUserSession, revokeUserSessions } from './administer.ts'
import { SessionRef } from './schema.ts'

builder.objectField(SessionRef, 'owner', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'Who is signed in with it.',
    resolve: (session, _args, context) => loadUser(context, session.user.id),
  }),
)

const SessionOrderEnum = builder.enumType('SessionOrder', {
  description: 'How to sort sessions.',
  values: {
    CREATED: { value: 'created', description: 'Newest first.' },
    LAST_USED: { value: 'lastUsed', description: 'Most recently used first.' },
  },
})

builder.queryField('sessions', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: SessionRef,
      description: "Everybody's sessions that still work, for administrators.",
      args: {
        user: t.arg.string({ description: 'Whose: e-mail address or plain identifier.' }),
        clientIp: t.arg.string({ description: 'Only sessions that this address signed in.' }),
        unusedSince: t.arg({ type: 'DateTime', description: 'Only sessions that have not been used since this time.' }),
        orderBy: t.arg({ type: SessionOrderEnum, description: 'Order; CREATED when left out.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em, now }) => listAllSessions(em, args, orderBy ?? 'created', { ...args, now: now() }),
    },
    { description: "A page of everybody's sessions." },
    { description: 'A session in a page.' },
  ),
)

builder.mutationField('revokeUserSession', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RevokeUserSessionPayload', 'A session that has ended.', {
      session: { type: SessionRef, description: 'The session that ended.' },
    }),
    description: "Ends a user's session immediately, for administrators. Sessions of the owner cannot be ended.",
    typeOptions: { description: "The session to end; it may be another user's." },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [SessionRef], description: 'Its global id.' }) },
    resolve: async (_root, { input }, context) => ({ session: await revokeUserSession(context, input.id.id) }),
  }),
)

builder.mutationField('revokeUserSessions', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RevokeUserSessionsPayload', 'The result of ending all sessions of a user.', {
      revokedCount: { type: 'Int', description: 'How many ended.' },
    }),
    description:
      'Ends all sessions of a user immediately, for administrators; access tokens keep working. Sessions of the owner cannot be ended.',
    typeOptions: { description: 'Whose sessions to end.' },
    argOptions: { description: 'Whose.' },
    input: { userId: t.input.globalID({ required: true, for: [UserRef], description: "The person's global id." }) },
    resolve: async (_root, { input }, context) => ({ revokedCount: await revokeUserSessions(context, input.userId.id) }),
  }),
)
