import { builder } from '../graphql/builder.ts'
import { UserRef } from '../users/refs.ts'
import { listAllSessions, revokeUserSession, revokeUserSessions } from './administer.ts'
import type { Session } from './entity.ts'
import { SessionRef } from './schema.ts'

builder.objectField(SessionRef, 'owner', (t) =>
  t.field({
    type: UserRef,
    nullable: true,
    description: 'Who is signed in with it.',
    resolve: (session, _args, { people }) => people.load(session.user.id),
  }),
)

const SessionOrderEnum = builder.enumType('SessionOrder', {
  description: 'How to sort sessions.',
  values: {
    CREATED: { value: 'created', description: 'Newest first.' },
    LAST_USED: { value: 'lastUsed', description: 'Used last first.' },
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
        unusedSince: t.arg({ type: 'DateTime', description: 'Only sessions that were not used since.' }),
        orderBy: t.arg({ type: SessionOrderEnum, description: 'Order; CREATED when left out.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em, now }) => listAllSessions(em, args, orderBy ?? 'created', { ...args, now: now() }),
    },
    { description: "A page of everybody's sessions." },
    { description: 'A session in a page.' },
  ),
)

const RevokeUserSessionInput = builder.inputType('RevokeUserSessionInput', {
  description: "The session to end, somebody else's too.",
  fields: (t) => ({ id: t.globalID({ required: true, for: [SessionRef], description: 'Its global id.' }) }),
})

const RevokeUserSessionPayload = builder.objectRef<{ session: Session }>('RevokeUserSessionPayload').implement({
  description: 'A session that has ended.',
  fields: (t) => ({ session: t.expose('session', { type: SessionRef, description: 'The session that ended.' }) }),
})

builder.mutationField('revokeUserSession', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: RevokeUserSessionPayload,
    description: "Ends one session of somebody at once, for administrators. The owner's are out of reach.",
    args: { input: t.arg({ type: RevokeUserSessionInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => ({ session: await revokeUserSession(context, input.id.id) }),
  }),
)

const RevokeUserSessionsInput = builder.inputType('RevokeUserSessionsInput', {
  description: 'Whose sessions to end.',
  fields: (t) => ({ userId: t.globalID({ required: true, for: [UserRef], description: "The person's global id." }) }),
})

const RevokeUserSessionsPayload = builder.objectRef<{ revokedCount: number }>('RevokeUserSessionsPayload').implement({
  description: 'Sessions that work no more.',
  fields: (t) => ({ revokedCount: t.exposeInt('revokedCount', { description: 'How many ended.' }) }),
})

builder.mutationField('revokeUserSessions', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: RevokeUserSessionsPayload,
    description: "Ends all sessions of somebody at once, for administrators; tokens stay. The owner's are out of reach.",
    args: { input: t.arg({ type: RevokeUserSessionsInput, required: true, description: 'Whose.' }) },
    resolve: async (_root, { input }, context) => ({ revokedCount: await revokeUserSessions(context, input.userId.id) }),
  }),
)
