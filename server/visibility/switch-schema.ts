import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { countEveryPackage, countPublicPackages, publicPackagesStatus, type PublicPackagesStatus, setPublicPackages } from './switch.ts'

const PublicPackages = builder.objectRef<PublicPackagesStatus>('PublicPackages').implement({
  description:
    'The state of public packages on this server. A package can be read without signing in only when the environment permits it, the switch is on, and the package itself is public.',
  fields: (t) => ({
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', {
      description: 'Whether PUBLIC_PACKAGES_ENABLED permits public packages at all.',
    }),
    enabled: t.exposeBoolean('enabled', { description: "Whether the server's switch is on." }),
    requiresServerAdmin: t.exposeBoolean('requiresServerAdmin', {
      description: 'Whether only server administrators make packages public or private.',
    }),
    totalPackages: t.int({ description: 'How many packages there are.', resolve: (_status, _args, context) => countEveryPackage(context) }),
    publicPackages: t.int({
      description: 'How many of them are public.',
      resolve: (_status, _args, context) => countPublicPackages(context),
    }),
  }),
})

builder.queryField('publicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PublicPackages,
    description: 'The state of public packages on this server, for administrators.',
    resolve: (_root, _args, context) => publicPackagesStatus(context),
  }),
)

builder.mutationField('updatePublicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdatePublicPackagesPayload', 'The switch as it is now.', {
      publicPackages: { type: PublicPackages, description: 'The state of public packages on this server.' },
    }),
    description: 'Turns reading without signing in on or off for the whole server. The next request sees it.',
    typeOptions: { description: "The server's switch for public packages." },
    argOptions: { description: 'The switch.' },
    input: {
      enabled: t.input.boolean({ required: true, description: 'Whether public packages may be read without signing in.' }),
      requiresServerAdmin: t.input.boolean({
        description: 'Whether only server administrators make packages public or private; as it is when left out.',
      }),
    },
    resolve: async (_root, { input }, context) => ({ publicPackages: await setPublicPackages(context, input) }),
  }),
)
