import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { countEveryPackage, countPublicPackages, publicPackagesStatus, type PublicPackagesStatus, setPublicPackages } from './switch.ts'

const PublicPackages = builder.objectRef<PublicPackagesStatus>('PublicPackages').implement({
  description:
    'Settings for public packages on this server. A package can be read without signing in only if the environment permits it, the server setting is on, and the package itself is public.',
  fields: (t) => ({
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', {
      description: 'Whether PUBLIC_PACKAGES_ENABLED permits public packages.',
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether the server setting for public packages is on.' }),
    requiresServerAdmin: t.exposeBoolean('requiresServerAdmin', {
      description: 'Whether only server administrators can change the visibility of packages.',
    }),
    totalPackages: t.int({ description: 'Number of packages.', resolve: (_status, _args, context) => countEveryPackage(context) }),
    publicPackages: t.int({
      description: 'Number of public packages.',
      resolve: (_status, _args, context) => countPublicPackages(context),
    }),
  }),
})

builder.queryField('publicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PublicPackages,
    description: 'Settings for public packages on this server. For administrators.',
    resolve: (_root, _args, context) => publicPackagesStatus(context),
  }),
)

builder.mutationField('updatePublicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdatePublicPackagesPayload', 'The settings after the change.', {
      publicPackages: { type: PublicPackages, description: 'Settings for public packages on this server.' },
    }),
    description: 'Enables or disables reading without signing in for the whole server. Takes effect with the next request.',
    typeOptions: { description: 'New settings for public packages.' },
    argOptions: { description: 'The new settings.' },
    input: {
      enabled: t.input.boolean({ required: true, description: 'Whether public packages can be read without signing in.' }),
      requiresServerAdmin: t.input.boolean({
        description: 'Whether only server administrators can change the visibility of packages. Unchanged if omitted.',
      }),
    },
    resolve: async (_root, { input }, context) => ({ publicPackages: await setPublicPackages(context, input) }),
  }),
)
