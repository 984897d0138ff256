import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { displayName, email } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'
import { isBrowsingOn } from '../access/browsing.ts'
import { isSetUp } from '../access/setup-gate.ts'
import { completeSetup, refuseAfterSetup, verifySetupCode } from './service.ts'

const SetupStatus = builder.objectRef<object>('SetupStatus').implement({
  description: 'What the sign-in and setup pages need to know about this server.',
  fields: (t) => ({
    needsSetup: t.boolean({
      description: 'Whether there is no owner yet.',
      resolve: async (_status, _args, context) => !(await isSetUp(context)),
    }),
    signupEnabled: t.boolean({
      description: 'Whether people may make accounts for themselves.',
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
    type: payload('VerifySetupCodePayload', 'A setup code that was right.', {
      setupToken: {
        extensions: { secret: true },
        type: 'String',
        description: 'Completes the setup, once and within 30 minutes. It is set as an HttpOnly cookie too, so browsers need not keep it.',
      },
    }),
    description: 'Checks the setup code. From then on only your address, with the token of this answer, can complete the setup.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true, ownOrigin: true, admit: refuseAfterSetup, limit: 'setupVerify' },
    typeOptions: { description: "The code from the server's log." },
    argOptions: { description: 'The code.' },
    input: {
      code: t.input.string({ required: true, description: 'With or without dashes.', validate: z.string().max(64, 'is not a setup code') }),
    },
    resolve: async (_root, { input }, context) => ({ setupToken: await verifySetupCode(context, input.code) }),
  }),
)

builder.mutationField('completeSetup', (t) =>
  t.fieldWithInput({
    type: payload('CompleteSetupPayload', 'A server that is set up.', { user: { type: UserRef, description: 'The owner.' } }),
    description: 'Makes the owner and ends the setup. Sign in afterwards.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true, ownOrigin: true, admit: refuseAfterSetup, limit: 'setupComplete' },
    typeOptions: { description: "The owner's account." },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Name for people to read.', validate: displayName }),
      password: t.input.string({ required: true, description: 'Password.' }),
      setupToken: t.input.string({
        description: 'What verifySetupCode answered with; taken from the cookie when left out.',
        validate: z.string().max(128, 'is not a setup token').nullish(),
      }),
    },
    resolve: async (_root, { input }, context) => ({ user: await completeSetup(context, input) }),
  }),
)
