import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { TokenScope } from '../tokens/refs.ts'
import { approveAuthorization, denyAuthorization, findPending, type PendingAuthorization } from './service.ts'

/** Only the very session that was asked may see or answer; a token may not, or it could beget others. */
const bySession = { $all: { session: true, signedIn: true } } as const

const PendingAuthorizationRef = builder.objectRef<PendingAuthorization>('PendingAuthorization').implement({
  description: 'A command-line client that asks for a token.',
  fields: (t) => ({
    requestId: t.exposeID('requestId', { description: 'The id in the address of the consent page.' }),
    clientId: t.exposeString('clientId', { description: 'Who asks.' }),
    redirectUri: t.exposeString('redirectUri', { description: 'Where the answer will be sent: a program on your own computer.' }),
    scopes: t.expose('scopes', { type: [TokenScope], description: 'What the token could do, clamped to your role.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it asked.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it can be answered.' }),
  }),
})

builder.queryField('pendingAuthorization', (t) =>
  t.withAuth(bySession).field({
    type: PendingAuthorizationRef,
    nullable: true,
    description: 'A client that waits for the answer of this very session; an error for anybody else, and once it is answered or too old.',
    args: { requestId: t.arg.id({ required: true, description: 'The id in the address of the consent page.' }) },
    resolve: (_root, { requestId }, context) => findPending(context, requestId),
  }),
)

const AnswerAuthorizationPayload = payload('AnswerAuthorizationPayload', 'An answer that its client has yet to hear.', {
  redirectUrl: { extensions: { secret: true }, type: 'URL', description: 'Send the browser here.' },
})

builder.mutationField('approveAuthorization', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerAuthorizationPayload,
    description: 'Lets a command-line client fetch a token of yours, within 60 seconds.',
    typeOptions: { description: 'The client to let in.' },
    argOptions: { description: 'Which one.' },
    input: { requestId: t.input.id({ required: true, description: 'The id in the address of the consent page.' }) },
    resolve: async (_root, { input }, context) => ({ redirectUrl: await approveAuthorization(context, input.requestId) }),
  }),
)

builder.mutationField('denyAuthorization', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerAuthorizationPayload,
    description: 'Turns a command-line client away.',
    typeOptions: { description: 'The client to turn away.' },
    argOptions: { description: 'Which one.' },
    input: { requestId: t.input.id({ required: true, description: 'The id in the address of the consent page.' }) },
    resolve: async (_root, { input }, context) => ({ redirectUrl: await denyAuthorization(context, input.requestId) }),
  }),
)
