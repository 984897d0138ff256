import { publicUrl } from '../../platform/http/public-url.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { anyText, notNegative, pageByKey } from '../../platform/graphql/connections.ts'
import { UserRef } from '../../accounts/users/refs.ts'
import type { Package } from './entity.ts'
import { canAdminister, canPublish } from './policy.ts'
import { ofPublicPackage, PackageRef } from './refs.ts'
import { countReadablePackages, findPackage, findPackageById, listPackageNames, listPackages, loadUploaders } from './service.ts'

builder.node(PackageRef, {
  description: 'A package with its versions.',
  authScopes: { scope: 'read' },
  id: { ...ofPublicPackage, resolve: (pkg) => pkg.id },
  loadOne: (id, context) => findPackageById(context, id),
  fields: (t) => ({
    name: t.exposeString('name', { ...ofPublicPackage, description: 'Name of the package.' }),
    url: t.field({
      ...ofPublicPackage,
      type: 'URL',
      description: 'URL of the package page on this server.',
      resolve: ({ name }, _args, { request, config }) => `${publicUrl(request, config.SERVER_URL)}/packages/${name}`,
    }),
  }),
})

builder.objectFields(PackageRef, (t) => ({
  uploaders: t.field({
    extensions: { size: 5 },
    type: [UserRef],
    description: 'Users with write access to the package.',
    resolve: async (pkg, _args, context) => ((await loadUploaders(context, pkg.id)) ?? []).map(({ user }) => user),
  }),
  viewerCanPublish: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you can publish versions of the package.',
    resolve: (pkg, _args, context) => viewerCan(context, canPublish, pkg),
  }),
  viewerCanAdminister: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you can change the options and uploaders of the package.',
    resolve: (pkg, _args, context) => viewerCan(context, canAdminister, pkg),
  }),
}))

builder.queryField('package', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    type: PackageRef,
    nullable: true,
    description: 'Returns the package with this name, or null.',
    args: { name: t.arg.string({ required: true, description: 'Name of the package.' }) },
    resolve: (_root, { name }, context) => findPackage(context, name),
  }),
)

builder.queryField('packages', (t) =>
  t.connection(
    {
      skipTypeScopes: true,
      authScopes: { browse: true },
      type: PackageRef,
      description: 'All listed packages by name.',
      args: {
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, args, context) =>
        pageByKey(args, {
          keyOf: ({ name }: Package) => name,
          isKey: anyText,
          load: (limit, after) => listPackages(context, { limit, after, offset: args.offset ?? undefined }),
          count: () => countReadablePackages(context),
        }),
    },
    { description: 'A page of packages.' },
    { description: 'A package in a page.' },
  ),
)

builder.queryField('packageNames', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    extensions: { size: 1000 },
    type: ['String'],
    description: 'Names of all packages, in order.',
    args: { withUnlisted: t.arg.boolean({ description: 'Whether to include unlisted packages. Defaults to false.' }) },
    resolve: (_root, { withUnlisted }, context) => listPackageNames(context, { withUnlisted: withUnlisted ?? false }),
  }),
)
