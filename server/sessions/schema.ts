import { z } from 'zod'
import { builder } from '../builder.ts'
import { refuseForeignOrigin } from '../http/csrf.ts'
import { type PublicUser, UserRef } from '../users/schema.ts'
import { password } from '../users/input.ts'
import { signIn, signOut } from './service.ts'

const LoginInput = builder.inputType('LoginInput', {
  description: 'Who signs in.',
  fields: (t) => ({
    email: t.string({ required: true, description: 'The account\'s e-mail address.', validate: z.string().max(1024, 'must be at most 254 characters long') }),
    password: t.string({ required: true, description: 'Its password.', validate: password }),
  }),
})

const LoginPayload = builder.objectRef<{ user: PublicUser }>('LoginPayload').implement({
  description: 'A session that has begun.',
  fields: (t) => ({ user: t.expose('user', { type: UserRef, description: 'Who signed in.' }) }),
})

builder.mutationField('login', (t) =>
  t.field({
    type: LoginPayload,
    description: 'Signs in with a password: starts a session and sets its cookies.',
    skipTypeScopes: true,
    args: { input: t.arg({ type: LoginInput, required: true, description: 'E-mail address and password.' }) },
    resolve: async (_root, { input }, context) => {
      refuseForeignOrigin(context.request, context.config.SERVER_URL)
      return { user: await signIn(context, input) }
    },
  }),
)

builder.mutationField('logout', (t) =>
  t.withAuth({ session: true }).boolean({
    skipTypeScopes: true,
    description: 'Ends the session that this request rides on and clears its cookies. Always true.',
    resolve: async (_root, _args, context) => {
      await signOut(context)
      return true
    },
  }),
)
