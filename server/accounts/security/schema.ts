import { encodeGlobalID } from '@pothos/plugin-relay'
import type { Context } from '../../platform/access/context.ts'
import { beforeSecondFactor } from '../../platform/access/guards.ts'
import { secondFactorIsDue } from '../../platform/access/policy.ts'
import { passwordIsDue } from '../../platform/access/roles.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { belongingsScope, canSeeBelongings, isOneself } from '../users/policy.ts'
import { UserRef } from '../users/refs.ts'
import { type Factors, hasSecondFactor, loadFactors } from '../factors/factors.ts'
import { resetSecondFactor } from './reset.ts'
import { PasskeyRef } from './passkey-schema.ts'
import { confirmTotp, disableTotp, proveTotp, regenerateRecoveryCodes, startTotp } from './totp.ts'

/** Returns who may read the factors of a user: the user, also before a required second factor was proved, and administrators. */
const factorsScope = (user: { id: string }, _args: object, context: Context) =>
  isOneself(context, user) && secondFactorIsDue(context) && !passwordIsDue(context) ? true : belongingsScope(user, context)

const factorsOf = (context: Context, user: { id: string }): Promise<Factors | null> =>
  canSeeBelongings(context, user) ? loadFactors(context, user.id) : Promise.resolve(null)

const forThemselves = 'null for other users than their owner and administrators. A token needs the scope WRITE.'

builder.objectFields(UserRef, (t) => ({
  passkeys: t.field({
    type: [PasskeyRef],
    nullable: true,
    authScopes: factorsScope,
    description: `The passkeys of the user, oldest first, at most 20; ${forThemselves}`,
    extensions: { size: 3 },
    resolve: async (user, _args, context) => (await factorsOf(context, user))?.passkeys ?? null,
  }),
  hasTotp: t.boolean({
    nullable: true,
    authScopes: factorsScope,
    description: `Whether the user has an authenticator app, whose code a sign-in with the password needs; ${forThemselves}`,
    resolve: async (user, _args, context) => (await factorsOf(context, user))?.hasTotp ?? null,
  }),
  recoveryCodesLeft: t.int({
    nullable: true,
    authScopes: factorsScope,
    description: `Number of unused recovery codes; ${forThemselves}`,
    resolve: async (user, _args, context) => (await factorsOf(context, user))?.recoveryCodes ?? null,
  }),
  hasSecondFactor: t.boolean({
    nullable: true,
    authScopes: factorsScope,
    description: `Whether the user has an authenticator app or a passkey that is accepted; ${forThemselves}`,
    resolve: async (user, _args, context) => {
      const factors = await factorsOf(context, user)
      return factors && hasSecondFactor(factors, context.config)
    },
  }),
  mustProveSecondFactor: t.boolean({
    description:
      'Whether your session must prove a second factor, or set one up, before anything else (REQUIRE_SECOND_FACTOR). False for other users.',
    resolve: (user, _args, context) => isOneself(context, user) && secondFactorIsDue(context),
  }),
}))

const UserPayload = payload('SecondFactorPayload', 'An account whose second factor was changed.', {
  user: { type: UserRef, description: 'The account.' },
})

const recoveryCodes = {
  type: ['String'],
  extensions: { secret: true },
  description: 'Ten new recovery codes, shown only once. Each is valid once in place of a code of the app.',
} as const

builder.mutationField('startTotp', (t) =>
  t.withAuth({ session: true }).field({
    ...beforeSecondFactor,
    type: payload('StartTotpPayload', 'The secret of an authenticator app, shown only once.', {
      secret: { type: 'String', extensions: { secret: true }, description: 'The secret in Base32, to type into the app.' },
      uri: { type: 'String', extensions: { secret: true }, description: 'The secret as an address that apps open (otpauth:).' },
      qrCode: { type: 'String', extensions: { secret: true }, description: 'The address as a QR code (SVG).' },
    }),
    description:
      'Starts to set up an authenticator app (TOTP). It counts once confirmTotp was called. It needs a recent confirmation of who you are.',
    resolve: (_root, _args, context) => startTotp(context),
  }),
)

builder.mutationField('confirmTotp', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    ...beforeSecondFactor,
    type: payload('ConfirmTotpPayload', 'An authenticator app that is set up.', {
      user: { type: UserRef, description: 'You.' },
      recoveryCodes,
    }),
    description:
      'Confirms the authenticator app with a code of it. From then on, signing in with the password needs a code. The session then has a second factor.',
    typeOptions: { description: 'The first code.' },
    argOptions: { description: 'The code.' },
    input: { otp: t.input.string({ required: true, description: 'The current code of the app.' }) },
    resolve: async (_root, { input }, context) => ({ recoveryCodes: await confirmTotp(context, input.otp), user: context.viewer }),
  }),
)

builder.mutationField('proveTotp', (t) =>
  t.withAuth({ session: true }).fieldWithInput({
    ...beforeSecondFactor,
    type: payload('ProveTotpPayload', 'A session whose user proved a second factor.', {
      sessionId: { type: 'ID', description: 'Global id of the session.' },
    }),
    description:
      'Proves your second factor with a code of your authenticator app, or a recovery code. The session then has a second factor. It is not a recent confirmation of who you are.',
    typeOptions: { description: 'One of the codes.' },
    argOptions: { description: 'One of the codes.' },
    input: {
      otp: t.input.string({ description: 'The current code of the app.' }),
      recoveryCode: t.input.string({ description: 'A recovery code, in place of a code of the app.' }),
    },
    resolve: (_root, { input }, context) =>
      done(proveTotp(context, input), { sessionId: encodeGlobalID('Session', context.credential.id) }),
  }),
)

builder.mutationField('disableTotp', (t) =>
  t.withAuth({ session: true }).field({
    type: UserPayload,
    description: 'Removes your authenticator app and its recovery codes. It needs a recent confirmation of who you are.',
    resolve: async (_root, _args, context) => ({ user: await disableTotp(context) }),
  }),
)

builder.mutationField('regenerateRecoveryCodes', (t) =>
  t.withAuth({ session: true }).field({
    type: payload('RecoveryCodesPayload', 'New recovery codes.', { recoveryCodes }),
    description: 'Replaces your recovery codes. It needs a recent confirmation of who you are.',
    resolve: async (_root, _args, context) => ({ recoveryCodes: await regenerateRecoveryCodes(context) }),
  }),
)

builder.mutationField('resetSecondFactor', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: UserPayload,
    description:
      'Removes the authenticator app, recovery codes and passkeys of a user who lost them, and ends the sessions of the user. For administrators.',
    typeOptions: { description: 'The account to reset.' },
    argOptions: { description: 'The account.' },
    input: { userId: t.input.globalID({ required: true, for: [UserRef], description: 'The account.' }) },
    resolve: async (_root, { input }, context) => ({ user: await resetSecondFactor(context, input.userId.id) }),
  }),
)
