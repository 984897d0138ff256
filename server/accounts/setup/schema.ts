import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { displayName, email } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'
import { isBrowsingOn } from '../../platform/access/audience.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { completeSetup, rejectAfterSetup, verifySetupCode } from './service.ts'

const SetupStatus = builder.objectRef<object>('SetupStatus').implement({
  description: 'Server state for the sign-in and setup pages.',
  fields: (t) => ({
    needsSetup: t.boolean({
      description: 'Whether the server has no owner yet.',
      resolve: async (_status, _args, context) => !(await isSetUp(context)),
    }),
    signupEnabled: t.boolean({
      description: 'Whether users can create their own accounts.',
      resolve: (_status, _args, { config }) => config.SIGNUP_ENABLED,
    }),
    publicBrowsing: t.boolean({
      description: 'Whether public packages can be read without signing in.',
      resolve: (_status, _args, context) => isBrowsingOn(context),
    }),
  }),
})

builder.queryField('setup', (t) =>
  t.field({
    type: SetupStatus,
    description: 'State of the first-run setup.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: () => ({}),
  }),
)

builder.mutationField('verifySetupCode', (t) =>
  t.fieldWithInput({
    type: payload('VerifySetupCodePayload', 'A verified setup code.', {
      setupToken: {
        extensions: { secret: true },
        type: 'String',
        description:
          'Token to complete the setup, once and within 30 minutes. Also set as an HttpOnly cookie, so browsers need not store it.',
      },
    }),
    description: 'Verifies the setup code. After that, only a client with the same IP address and this token can complete the setup.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true, ownOrigin: true, admit: rejectAfterSetup, limit: 'setupVerify' },
    typeOptions: { description: "The code from the server's log." },
    argOptions: { description: 'The code.' },
    input: {
      code: t.input.string({
        required: true,
        description: 'The code, with or without dashes.',
        validate: z.string().max(64, 'is not a setup code'),
      }),
    },
    resolve: async (_root, { input }, context) => ({ setupToken: await verifySetupCode(context, input.code) }),
  }),
)

builder.mutationField('completeSetup', (t) =>
  t.fieldWithInput({
    type: payload('CompleteSetupPayload', 'The completed setup.', { user: { type: UserRef, description: 'The owner.' } }),
    description: 'Creates the owner and completes the setup. Sign in afterwards.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true, ownOrigin: true, admit: rejectAfterSetup, limit: 'setupComplete' },
    typeOptions: { description: "The owner's account." },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Display name.', validate: displayName }),
      password: t.input.string({ required: true, description: 'Password.' }),
      setupToken: t.input.string({
        description: 'The token returned by verifySetupCode. Default: the token in the cookie.',
        validate: z.string().max(128, 'is not a setup token').nullish(),
      }),
    },
    resolve: async (_root, { input }, context) => ({ user: await completeSetup(context, input) }),
  }),
)
