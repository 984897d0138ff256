import { builder } from '../../platform/graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { UserRef } from '../users/refs.ts'
import { listAllSessions, revokeUserSession, revokeUserSessions } from './administer.ts'
import { SessionRef } from './schema.ts'

builder.objectField(SessionRef, 'owner', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'The user who is signed in.',
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
      description: 'The active sessions of all users, for administrators.',
      args: {
        user: t.arg.string({ description: 'Only sessions of this user: e-mail address or plain identifier.' }),
        clientIp: t.arg.string({ description: 'Only sessions that were started from this IP address.' }),
        unusedSince: t.arg({ type: 'DateTime', description: 'Only sessions that have not been used since this time.' }),
        orderBy: t.arg({ type: SessionOrderEnum, description: 'Sort order. Default: CREATED.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em, now }) => listAllSessions(em, args, orderBy ?? 'created', { ...args, now: now() }),
    },
    { description: 'A page of sessions of all users.' },
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
    argOptions: { description: 'The session.' },
    input: { id: t.input.globalID({ required: true, for: [SessionRef], description: 'Global id of the session.' }) },
    resolve: async (_root, { input }, context) => ({ session: await revokeUserSession(context, input.id.id) }),
  }),
)

builder.mutationField('revokeUserSessions', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RevokeUserSessionsPayload', 'The result of ending all sessions of a user.', {
      revokedCount: { type: 'Int', description: 'Number of sessions that were ended.' },
    }),
    description:
      'Ends all sessions of a user immediately, for administrators; access tokens keep working. Sessions of the owner cannot be ended.',
    typeOptions: { description: 'The user whose sessions to end.' },
    argOptions: { description: 'The user.' },
    input: { userId: t.input.globalID({ required: true, for: [UserRef], description: 'Global id of the user.' }) },
    resolve: async (_root, { input }, context) => ({ revokedCount: await revokeUserSessions(context, input.userId.id) }),
  }),
)
