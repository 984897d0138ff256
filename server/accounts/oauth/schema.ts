import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { approveDevice, denyDevice, findDevice, type WaitingDevice } from './devices.ts'
import { TokenScope } from '../tokens/refs.ts'
import { approveAuthorization, denyAuthorization, findPending, type PendingAuthorization } from './service.ts'

/** Only the session that opened the consent page may read and answer the request. Tokens may not, since they could create other tokens. */
const bySession = { $all: { session: true, signedIn: true } } as const

const PendingAuthorizationRef = builder.objectRef<PendingAuthorization>('PendingAuthorization').implement({
  description: 'An authorization request of a command-line client.',
  fields: (t) => ({
    requestId: t.exposeID('requestId', { description: 'The id in the URL of the consent page.' }),
    clientId: t.exposeString('clientId', { description: 'Identifier of the client.' }),
    redirectUri: t.exposeString('redirectUri', { description: 'Where the response is sent: a program on your own computer.' }),
    scopes: t.expose('scopes', { type: [TokenScope], description: 'Requested scopes, limited to those of your role.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the request expires.' }),
  }),
})

builder.queryField('pendingAuthorization', (t) =>
  t.withAuth(bySession).field({
    type: PendingAuthorizationRef,
    nullable: true,
    description:
      'A pending authorization request of this session. An error for other sessions, and once the request was answered or has expired.',
    args: { requestId: t.arg.id({ required: true, description: 'The id in the URL of the consent page.' }) },
    resolve: (_root, { requestId }, context) => findPending(context, requestId),
  }),
)

const AnswerAuthorizationPayload = payload('AnswerAuthorizationPayload', 'Where to redirect the browser.', {
  redirectUrl: { extensions: { secret: true }, type: 'URL', description: 'URL of the client, with the response.' },
})

builder.mutationField('approveAuthorization', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerAuthorizationPayload,
    description: 'Allows a command-line client to get an access token for your account within 60 seconds.',
    typeOptions: { description: 'The request to approve.' },
    argOptions: { description: 'The request.' },
    input: { requestId: t.input.id({ required: true, description: 'The id in the URL of the consent page.' }) },
    resolve: async (_root, { input }, context) => ({ redirectUrl: await approveAuthorization(context, input.requestId) }),
  }),
)

builder.mutationField('denyAuthorization', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerAuthorizationPayload,
    description: 'Denies a command-line client access.',
    typeOptions: { description: 'The request to deny.' },
    argOptions: { description: 'The request.' },
    input: { requestId: t.input.id({ required: true, description: 'The id in the URL of the consent page.' }) },
    resolve: async (_root, { input }, context) => ({ redirectUrl: await denyAuthorization(context, input.requestId) }),
  }),
)

const DeviceAuthorizationRef = builder.objectRef<WaitingDevice>('DeviceAuthorization').implement({
  description: 'A request for a token from a device without a browser (RFC 8628).',
  fields: (t) => ({
    userCode: t.exposeString('userCode', {
      extensions: { secret: true },
      description: 'The code that the device shows, such as `BCDF-GHJK`.',
    }),
    scopes: t.expose('scopes', { type: [TokenScope], description: 'Requested scopes, limited to those of your role.' }),
    clientIp: t.exposeString('clientIp', { description: 'Address that the request came from.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the request expires.' }),
  }),
})

const userCode = { required: true, description: 'The code that the device shows; case, hyphens and spaces do not matter.' } as const

builder.queryField('deviceAuthorization', (t) =>
  t.withAuth(bySession).field({
    type: DeviceAuthorizationRef,
    nullable: true,
    description: 'The device that waits with this code. An error for wrong codes, and once the request was answered or has expired.',
    args: { userCode: t.arg.string(userCode) },
    resolve: (_root, args, context) => findDevice(context, args.userCode),
  }),
)

const AnswerDevicePayload = payload('AnswerDevicePayload', 'The request of a device that you answered.', {
  deviceAuthorization: { type: DeviceAuthorizationRef, description: 'The request.' },
})

builder.mutationField('approveDevice', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerDevicePayload,
    description: 'Allows a device to get an access token for your account.',
    typeOptions: { description: 'The device to allow.' },
    argOptions: { description: 'The device.' },
    input: { userCode: t.input.string(userCode) },
    resolve: async (_root, { input }, context) => ({ deviceAuthorization: await approveDevice(context, input.userCode) }),
  }),
)

builder.mutationField('denyDevice', (t) =>
  t.withAuth(bySession).fieldWithInput({
    type: AnswerDevicePayload,
    description: 'Denies a device an access token.',
    typeOptions: { description: 'The device to deny.' },
    argOptions: { description: 'The device.' },
    input: { userCode: t.input.string(userCode) },
    resolve: async (_root, { input }, context) => ({ deviceAuthorization: await denyDevice(context, input.userCode) }),
  }),
)
