import { builder } from '../graphql/builder.ts'
import { countPackages, countPublicPackages, publicPackagesStatus, type PublicPackagesStatus, setPublicPackages } from './switch.ts'

const PublicPackages = builder.objectRef<PublicPackagesStatus>('PublicPackages').implement({
  description:
    'Where the feature of public packages stands. A package can be read without signing in only when the environment permits it, the switch is on, and the package itself is public.',
  fields: (t) => ({
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', {
      description: 'Whether PUBLIC_PACKAGES_ENABLED permits public packages at all.',
    }),
    enabled: t.exposeBoolean('enabled', { description: "Whether the server's switch is on." }),
    requiresServerAdmin: t.exposeBoolean('requiresServerAdmin', {
      description: 'Whether only server administrators make packages public or private.',
    }),
    totalPackages: t.int({ description: 'How many packages there are.', resolve: (_status, _args, context) => countPackages(context) }),
    publicPackages: t.int({
      description: 'How many of them are public.',
      resolve: (_status, _args, context) => countPublicPackages(context),
    }),
  }),
})

builder.queryField('publicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PublicPackages,
    description: 'Where the feature of public packages stands, for administrators.',
    resolve: (_root, _args, context) => publicPackagesStatus(context),
  }),
)

const UpdatePublicPackagesInput = builder.inputType('UpdatePublicPackagesInput', {
  description: "The server's switch for public packages.",
  fields: (t) => ({
    enabled: t.boolean({ required: true, description: 'Whether public packages may be read without signing in.' }),
    requiresServerAdmin: t.boolean({
      description: 'Whether only server administrators make packages public or private; as it is when left out.',
    }),
  }),
})

const UpdatePublicPackagesPayload = builder.objectRef<{ publicPackages: PublicPackagesStatus }>('UpdatePublicPackagesPayload').implement({
  description: 'The switch as it is now.',
  fields: (t) => ({ publicPackages: t.expose('publicPackages', { type: PublicPackages, description: 'Where the feature stands.' }) }),
})

builder.mutationField('updatePublicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: UpdatePublicPackagesPayload,
    description: 'Turns reading without signing in on or off for the whole server. The next request sees it.',
    args: { input: t.arg({ type: UpdatePublicPackagesInput, required: true, description: 'The switch.' }) },
    resolve: async (_root, { input }, context) => ({ publicPackages: await setPublicPackages(context, input) }),
  }),
)
