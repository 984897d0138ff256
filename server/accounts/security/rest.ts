import { z } from 'zod'
import { type Answer, type Data, ok, route } from '../../platform/rest/route.ts'
import { ofViewer, userFields } from '../users/refs.ts'

const passkeyFields = 'id: uuid name createdAt lastUsedAt isBackedUp status'
const ids = { ids: { id: 'Passkey' }, names: { id: 'passkeyId' } } as const

const requestOptions = { challenge: z.string(), timeout: z.int(), rpId: z.string(), userVerification: z.string() }
const descriptors = z.array(z.looseObject({ id: z.string(), type: z.string() }))
const creationOptions = {
  challenge: z.string(),
  timeout: z.int(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ alg: z.int(), type: z.string() })),
  excludeCredentials: descriptors,
  authenticatorSelection: z.looseObject({ residentKey: z.string(), userVerification: z.string() }),
  attestation: z.string(),
}

const optionsOf = (mutation: string, members: z.ZodRawShape): Answer => ({
  from: (data) => (data[mutation] as Data).options,
  schema: z.looseObject(members),
})

export const securityRoutes = [
  route('POST /api/auth/passkey/options', 'mutation { startPasskeySignIn { options } }', {
    anyCredential: true,
    summary: 'Starts a sign-in with a passkey: options for navigator.credentials.get().',
    answer: optionsOf('startPasskeySignIn', requestOptions),
    errorStatuses: [409],
  }),
  route(
    'POST /api/auth/passkey/login',
    `mutation ($input: SignInWithPasskeyInput!) { signInWithPasskey(input: $input) { user { ${userFields} } } }`,
    {
      anyCredential: true,
      summary: 'Signs in with a passkey; sets the session cookies.',
      answer: 'signInWithPasskey.user',
      errorStatuses: [401],
    },
  ),
  route('POST /api/auth/passkey/proof-options', 'mutation { startPasskeyProof { options } }', {
    summary: 'Starts to confirm with a passkey who you are: options for navigator.credentials.get().',
    answer: optionsOf('startPasskeyProof', { ...requestOptions, allowCredentials: descriptors }),
    errorStatuses: [409],
  }),
  route('POST /api/auth/passkey/proof', 'mutation ($input: ProvePasskeyInput!) { provePasskey(input: $input) { sessionId } }', {
    summary: 'Confirms with a passkey who you are; for the next ten minutes this session may perform operations that require it.',
    answer: ok,
  }),
  route('GET /api/auth/passkeys', `{ viewer { passkeys { ${passkeyFields} } } }`, {
    summary: 'Your passkeys, oldest first.',
    answer: 'viewer',
    ...ofViewer,
    caller: 'ownAccount',
  }),
  route('POST /api/auth/passkeys/options', 'mutation { startPasskeyRegistration { options } }', {
    summary: 'Starts to add a passkey: options for navigator.credentials.create().',
    answer: optionsOf('startPasskeyRegistration', creationOptions),
    errorStatuses: [409],
  }),
  route(
    'POST /api/auth/passkeys',
    `mutation ($input: RegisterPasskeyInput!) { registerPasskey(input: $input) { passkey { ${passkeyFields} } } }`,
    { summary: 'Adds a passkey to your account.', status: 201, answer: 'registerPasskey.passkey', errorStatuses: [409] },
  ),
  route(
    'PATCH /api/auth/passkeys/:id',
    `mutation ($input: RenamePasskeyInput!) { renamePasskey(input: $input) { passkey { ${passkeyFields} } } }`,
    { summary: 'Renames one of your passkeys.', answer: 'renamePasskey.passkey', ...ids },
  ),
  route('DELETE /api/auth/passkeys/:id', 'mutation ($input: RemovePasskeyInput!) { removePasskey(input: $input) { passkey { id } } }', {
    summary: 'Removes one of your passkeys.',
    answer: ok,
    errorStatuses: [409],
    ...ids,
  }),
  route('POST /api/auth/totp', 'mutation { startTotp { secret uri qrCode } }', {
    summary: 'Starts to set up an authenticator app; the secret is shown only once.',
    answer: 'startTotp',
    errorStatuses: [409],
  }),
  route('POST /api/auth/totp/confirm', 'mutation ($input: ConfirmTotpInput!) { confirmTotp(input: $input) { recoveryCodes } }', {
    summary: 'Confirms the authenticator app with a code; returns recovery codes, shown only once.',
    answer: 'confirmTotp',
    errorStatuses: [409, 429],
  }),
  route('POST /api/auth/totp/proof', 'mutation ($input: ProveTotpInput!) { proveTotp(input: $input) { sessionId } }', {
    summary: 'Proves your second factor with a code of your authenticator app, or a recovery code; this session then has a second factor.',
    answer: ok,
    errorStatuses: [409, 429],
  }),
  route('DELETE /api/auth/totp', 'mutation { disableTotp { user { id } } }', {
    summary: 'Removes your authenticator app and its recovery codes.',
    answer: ok,
    errorStatuses: [409],
  }),
  route('POST /api/auth/recovery-codes', 'mutation { regenerateRecoveryCodes { recoveryCodes } }', {
    summary: 'Replaces your recovery codes; they are shown only once.',
    answer: 'regenerateRecoveryCodes',
    errorStatuses: [409],
  }),
  route(
    'POST /api/admin/users/:id/reset-second-factor',
    'mutation ($input: ResetSecondFactorInput!) { resetSecondFactor(input: $input) { user { id } } }',
    {
      summary: 'Removes the second factor and the passkeys of a user, and ends the sessions of the user.',
      ids: { id: 'User' },
      names: { id: 'userId' },
      answer: ok,
    },
  ),
]
