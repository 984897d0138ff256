import { beforeSecondFactor, requireChosenPassword } from '../../platform/access/guards.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { done, payload, wordEnum } from '../../platform/graphql/payload.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { label } from '../users/input.ts'
import { visibleBelongings } from '../users/policy.ts'
import { UserRef } from '../users/refs.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { signInWithPasskey, startSignIn } from './assertion.ts'
import { Passkey } from '../factors/entity.ts'
import { passkeyStatus } from '../factors/factors.ts'
import { provePasskey, registerPasskey, removePasskey, renamePasskey, startProof, startRegistration } from './passkeys.ts'

const PasskeyStatus = wordEnum('PasskeyStatus', 'Whether a passkey is accepted.', {
  active: 'It is accepted.',
  void: 'It was created for another address of the server (SERVER_URL), where browsers no longer offer it. Remove it and add another one.',
  copied: 'It was disabled because its counter went back, so it was probably copied. Remove it.',
})

export const PasskeyRef = builder.objectRef<Passkey>('Passkey')
builder.node(PasskeyRef, {
  description: 'A passkey, with which a user signs in without a password.',
  id: { resolve: (passkey) => passkey.id },
  loadOne: (id, context) => {
    const seen = visibleBelongings(context)
    return seen && context.em.findOne(Passkey, { ...seen, id })
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    name: t.exposeString('name', { description: 'Name chosen by the owner.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the passkey was added.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'When the passkey was last used.' }),
    isBackedUp: t.exposeBoolean('isBackedUp', {
      description: 'Whether the passkey is synchronized, so that it is not lost along with one device.',
    }),
    status: t.field({
      type: PasskeyStatus,
      description: 'Whether the passkey is accepted.',
      resolve: (passkey, _args, { config }) => passkeyStatus(passkey, config),
    }),
  }),
})

const options = { type: 'JSON', description: 'Options for the Web Authentication API, valid for five minutes.' } as const
const OptionsPayload = payload('PasskeyOptionsPayload', 'What a browser needs to use a passkey.', { options })
const PasskeyPayload = payload('PasskeyPayload', 'A passkey.', { passkey: { type: PasskeyRef, description: 'The passkey.' } })
const passkeyName = { required: true, description: 'Name of the passkey, such as the device.', validate: label(100) } as const
const response = { type: 'JSON', required: true, description: 'The response of the browser (PublicKeyCredential.toJSON()).' } as const

builder.mutationField('startPasskeySignIn', (t) =>
  t.field({
    type: OptionsPayload,
    description: 'Starts a sign-in with a passkey: returns the options for navigator.credentials.get() and sets a cookie for five minutes.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'passkeyOptions' },
    resolve: async (_root, _args, context) => ({ options: await startSignIn(context) }),
  }),
)

builder.mutationField('signInWithPasskey', (t) =>
  t.fieldWithInput({
    type: payload('SignInWithPasskeyPayload', 'A new session.', { user: { type: UserRef, description: 'The user who signed in.' } }),
    description: 'Signs in with a passkey: starts a session and sets its cookies. It needs no code of an authenticator app.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, limit: 'login' },
    typeOptions: { description: 'The signed challenge.' },
    argOptions: { description: 'The response of the browser.' },
    input: { credential: t.input.field(response) },
    resolve: async (_root, { input }, context) => ({ user: await signInWithPasskey(context, input.credential) }),
  }),
)

const countOptions = {
  ...beforeSecondFactor,
  extensions: {
    admit: async (context: Parameters<typeof requireChosenPassword>[0]) => {
      requireChosenPassword(context)
      await context.limits.use('passkeyOptions', context.viewer?.id ?? addressKey(context.ip))
    },
  },
} as const

builder.mutationField('startPasskeyRegistration', (t) =>
  t.withAuth({ session: true }).field({
    ...countOptions,
    type: OptionsPayload,
    description:
      'Starts to add a passkey: returns the options for navigator.credentials.create(). It needs a recent confirmation of who you are.',
    resolve: async (_root, _args, context) => ({ options: await startRegistration(context) }),
  }),
)

builder.mutationField('registerPasskey', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    ...beforeSecondFactor,
    type: PasskeyPayload,
    description: 'Adds a passkey to your account. The session then has a second factor.',
    typeOptions: { description: 'The new passkey.' },
    argOptions: { description: 'Its name, and the response of the browser.' },
    input: { name: t.input.string(passkeyName), credential: t.input.field(response) },
    resolve: async (_root, { input }, context) => ({ passkey: await registerPasskey(context, input) }),
  }),
)

builder.mutationField('renamePasskey', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    type: PasskeyPayload,
    description: 'Renames one of your passkeys.',
    typeOptions: { description: 'The passkey and its new name.' },
    argOptions: { description: 'The passkey and its new name.' },
    input: {
      passkeyId: t.input.globalID({ required: true, for: [PasskeyRef], description: 'Global id of the passkey.' }),
      name: t.input.string(passkeyName),
    },
    resolve: async (_root, { input }, context) => ({ passkey: await renamePasskey(context, input.passkeyId.id, input.name) }),
  }),
)

builder.mutationField('removePasskey', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    type: PasskeyPayload,
    description: 'Removes one of your passkeys. It needs a recent confirmation of who you are.',
    typeOptions: { description: 'The passkey to remove.' },
    argOptions: { description: 'The passkey.' },
    input: { passkeyId: t.input.globalID({ required: true, for: [PasskeyRef], description: 'Global id of the passkey.' }) },
    resolve: async (_root, { input }, context) => ({ passkey: await removePasskey(context, input.passkeyId.id) }),
  }),
)

builder.mutationField('startPasskeyProof', (t) =>
  t.withAuth({ session: true }).field({
    ...countOptions,
    type: OptionsPayload,
    description: 'Starts to confirm with a passkey who you are: returns the options for navigator.credentials.get().',
    resolve: async (_root, _args, context) => ({ options: await startProof(context) }),
  }),
)

builder.mutationField('provePasskey', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    ...beforeSecondFactor,
    type: payload('ProvePasskeyPayload', 'A session whose user confirmed who they are.', {
      sessionId: { type: 'ID', description: 'Global id of the session.' },
    }),
    description:
      'Confirms with a passkey who you are, in place of confirmPassword: for the next ten minutes this session may perform operations that require it. The session then has a second factor.',
    typeOptions: { description: 'The signed challenge.' },
    argOptions: { description: 'The response of the browser.' },
    input: { credential: t.input.field(response) },
    resolve: (_root, { input }, context) =>
      done(provePasskey(context, input.credential), { sessionId: encodeGlobalID('Session', context.credential.id) }),
  }),
)
