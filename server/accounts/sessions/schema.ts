import { builder } from '../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { connectionOf, done, payload, wordEnum } from '../../platform/graphql/payload.ts'
import { connectionOrders, newestByDefault } from '../../platform/graphql/types.ts'
import { requireChosenPassword } from '../../platform/access/guards.ts'
import { UserRef, UserReference, referencedUser } from '../users/refs.ts'
import { belongingsScope, visibleBelongings, canSeeBelongings } from '../users/policy.ts'
import { Session, type SignInWay } from './entity.ts'
import {
  confirmPassword,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  sessionIsLive,
  type SessionOrder,
  signOut,
  listAllSessions,
  revokeUserSession,
  revokeUserSessions,
} from './service.ts'
import { signIn } from './sign-in.ts'
import { loadUser } from '../users/service.ts'

const SignInWayEnum = wordEnum<SignInWay>('SignInWay', 'A way to sign in.', {
  password: 'With a password.',
  provider: 'Through an OpenID provider.',
  passkey: 'With a passkey.',
})

const SessionRef = builder.objectRef<Session>('Session')
builder.node(SessionRef, {
  description: 'A signed-in browser.',
  id: { resolve: (session) => session.id },
  loadOne: (id, context) => {
    const seen = visibleBelongings(context)
    return seen && context.em.findOne(Session, { ...sessionIsLive(context.now()), ...seen, id })
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the session started.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'When the session was last used, to the minute.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the session expires. It ends earlier after 7 days without use.',
    }),
    clientIp: t.exposeString('clientIp', { description: 'IP address of the sign-in.' }),
    userAgent: t.exposeString('userAgent', { description: 'User agent of the browser that signed in.' }),
    way: t.field({
      type: SignInWayEnum,
      description: 'How the user signed in.',
      resolve: ({ way }) => way,
    }),
    current: t.boolean({
      description: 'Whether this request was made with this session.',
      resolve: ({ id }, _args, { credential }) => credential?.kind === 'session' && credential.id === id,
    }),
    owner: t.field({
      type: UserRef,
      nullable: true,
      description: 'The user who is signed in.',
      resolve: ({ user }, _args, context) => loadUser(context, user.id),
    }),
  }),
})

builder.objectField(UserRef, 'sessions', (t) =>
  t.connection(
    {
      type: SessionRef,
      nullable: true,
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description:
        'Active sessions, newest first; null for other users than their owner and administrators. A token needs the scope WRITE.',
      args: { direction: t.arg(newestByDefault) },
      resolve: (user, args, context) =>
        canSeeBelongings(context, user) ? listSessions(context.em, user.id, { ...args, now: context.now() }) : null,
    },
    connectionOf(SessionRef),
  ),
)

builder.mutationField('login', (t) =>
  t.fieldWithInput({
    type: payload('LoginPayload', 'A new session.', { user: { type: UserRef, description: 'The user who signed in.' } }),
    description:
      'Signs in with a password: starts a session and sets its cookies. For an account with a second factor, the error of a sign-in without a code has the ways to prove the second factor in `extensions.secondFactor`.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'login' },
    typeOptions: { description: 'The credentials.' },
    argOptions: { description: 'E-mail address and password.' },
    input: {
      email: t.input.string({ required: true, description: "The account's e-mail address." }),
      password: t.input.string({ required: true, description: "The account's password." }),
      otp: t.input.string({ description: 'Code of the authenticator app, for accounts that have one.' }),
      recoveryCode: t.input.string({ description: 'Recovery code in place of the code of the app. It is valid once.' }),
    },
    resolve: async (_root, { input }, context) => ({ user: await signIn(context, input) }),
  }),
)

builder.mutationField('logout', (t) =>
  t.withAuth({ session: true }).field({
    type: payload('LogoutPayload', 'A session that has ended.', {
      sessionId: { type: 'ID', description: 'Global id of the session.' },
      endSessionUrl: {
        type: 'URL',
        nullable: true,
        extensions: { secret: true },
        description: 'URL that also signs out at the provider which started the session; null without one.',
      },
    }),
    extensions: { formerResult: true },
    skipTypeScopes: true,
    description: 'Signs out: ends the session of this request and clears its cookies.',
    resolve: async (_root, _args, context) => ({
      endSessionUrl: await signOut(context),
      sessionId: encodeGlobalID('Session', context.credential.id),
    }),
  }),
)

builder.mutationField('confirmPassword', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    type: payload('ConfirmPasswordPayload', 'A session whose user confirmed their password.', {
      sessionId: { type: 'ID', description: 'Global id of the session.' },
    }),
    extensions: { formerResult: true, admit: requireChosenPassword },
    skipTypeScopes: true,
    description:
      'Confirms your password. For the next ten minutes this session may perform operations that require a confirmed password (their error has `password` in `extensions.proof`).',
    typeOptions: { description: 'The password to confirm.' },
    argOptions: { description: 'The password.' },
    input: { currentPassword: t.input.string({ required: true, description: 'Your password.' }) },
    resolve: (_root, { input }, context) =>
      done(confirmPassword(context, input.currentPassword), { sessionId: encodeGlobalID('Session', context.credential.id) }),
  }),
)

builder.mutationField('revokeSession', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: payload('RevokeSessionPayload', 'A session that has ended.', {
      session: { type: SessionRef, description: 'The session that ended.' },
    }),
    description: 'Ends one of your sessions immediately.',
    typeOptions: { description: 'The session to end.' },
    argOptions: { description: 'The session.' },
    input: {
      sessionId: t.input.globalID({ required: true, for: [SessionRef], description: 'Global id of the session.', ...formerly('id') }),
    },
    resolve: async (_root, { input }, context) => ({ session: await revokeSession(context, input.sessionId.id) }),
  }),
)

builder.mutationField('revokeOtherSessions', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: payload('RevokeOtherSessionsPayload', 'The result of ending your other sessions.', {
      revokedCount: { type: 'Int', description: 'Number of sessions that were ended.' },
    }),
    description: 'Ends all your sessions except the one of this request; with an access token, all of them.',
    resolve: async (_root, _args, context) => ({ revokedCount: await revokeOtherSessions(context) }),
  }),
)

const sessionOrders = connectionOrders<SessionOrder>('SessionOrder', 'How to sort sessions.', 'created', {
  created: { description: 'By time of the sign-in.', direction: 'desc' },
  lastUsed: { description: 'By time of the last use.', direction: 'desc' },
})

builder.queryField('sessions', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: SessionRef,
      description: 'The active sessions of all users, for administrators.',
      args: {
        user: t.arg({ type: UserReference, description: 'Only sessions of this user.' }),
        clientIp: t.arg.string({ description: 'Only sessions that were started from this IP address.' }),
        unusedSince: t.arg({ type: 'DateTime', description: 'Only sessions that have not been used since this time.' }),
        ...sessionOrders.args,
      },
      resolve: (_root, args, { em, now }) =>
        listAllSessions(em, { ...args, user: referencedUser(args.user) }, sessionOrders.sortOf(args), { ...args, now: now() }),
    },
    connectionOf(SessionRef),
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
    input: {
      sessionId: t.input.globalID({ required: true, for: [SessionRef], description: 'Global id of the session.', ...formerly('id') }),
    },
    resolve: async (_root, { input }, context) => ({ session: await revokeUserSession(context, input.sessionId.id) }),
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
