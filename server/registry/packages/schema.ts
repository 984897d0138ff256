import { publicUrl } from '../../platform/http/public-url.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { replacedBy } from '../../platform/graphql/former-schema.ts'
import { connectionOrders, newestByDefault, OrderDirection } from '../../platform/graphql/types.ts'
import { connectionOf } from '../../platform/graphql/payload.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { anyText, notNegative, pageByKey, partOf } from '../../platform/graphql/connections.ts'
import { UserRef } from '../../accounts/users/refs.ts'
import type { PackageVersion } from './entity.ts'
import { listingText } from './listing/service.ts'
import { canAdminister, canPublish, canSeeActivity } from './policy.ts'
import { ofPublicPackage, PackageRef, PackageVersionRef } from './refs.ts'
import {
  findPackage,
  findPackageById,
  listPackageNames,
  listPackages,
  loadHasPublished,
  loadUploaders,
  listOwnPackages,
  type OwnOrder,
} from './service.ts'
import {
  countVersions,
  descriptionOf,
  displayedVersion,
  findVersion,
  latestPrerelease,
  latestVersion,
  listVersions,
  datesOf,
  publishedAtOf,
} from './versions/service.ts'
import { insufficientPermissions } from '../../errors.ts'
import { listAuditEntries } from '../../accounts/audit/list.ts'
import { AuditEntryRef } from '../../accounts/audit/refs.ts'
import { canSeeBelongings } from '../../accounts/users/policy.ts'

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
    description: t.string({
      ...ofPublicPackage,
      description: 'Description from the latest version; may be empty.',
      resolve: (pkg, _args, context) => descriptionOf(context, pkg),
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
    description: 'Whether you can publish versions of the package. False if it or its publisher leaves publishing to CI jobs.',
    resolve: (pkg, _args, context) => viewerCan(context, canPublish, pkg),
  }),
  viewerCanAdminister: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you can change the options and uploaders of the package.',
    resolve: (pkg, _args, context) => viewerCan(context, canAdminister, pkg),
  }),
  publishedAt: t.field({
    ...ofPublicPackage,
    type: 'DateTime',
    description: 'When the newest version was published.',
    resolve: (pkg, _args, context) => publishedAtOf(context, pkg),
  }),
  listing: t.string({
    ...ofPublicPackage,
    nullable: true,
    extensions: { cost: 500 },
    description: 'The package with all its versions as package clients read it, as JSON text. Null if it has just been deleted.',
    resolve: (pkg, _args, context) => listingText(context, pkg),
  }),
}))

const optionalVersion = { ...ofPublicPackage, type: PackageVersionRef, nullable: true } as const

builder.objectFields(PackageRef, (t) => ({
  createdAt: t.field({
    ...ofPublicPackage,
    type: 'DateTime',
    description: 'When the first version was published.',
    resolve: async (pkg, _args, context) => (await datesOf(context, pkg)).createdAt,
  }),
  updatedAt: t.field({
    ...ofPublicPackage,
    type: 'DateTime',
    description: 'When the package last changed.',
    resolve: async (pkg, _args, context) => (await datesOf(context, pkg)).updatedAt,
  }),
  latest: t.field({
    ...optionalVersion,
    description:
      'The version that new users get: the highest stable version that is not retracted, or else the highest pre-release. Null if all versions are retracted.',
    resolve: (pkg, _args, context) => latestVersion(context, pkg),
  }),
  displayedVersion: t.field({
    ...optionalVersion,
    description: 'The version that pages show: `latest`, or the highest version if all are retracted.',
    resolve: (pkg, _args, context) => displayedVersion(context, pkg),
  }),
  latestPrerelease: t.field({
    ...optionalVersion,
    description: 'The highest pre-release, if it is higher than the latest stable version.',
    resolve: (pkg, _args, context) => latestPrerelease(context, pkg),
  }),
  version: t.field({
    ...optionalVersion,
    description: 'One version; null if it does not exist.',
    args: { version: t.arg({ type: 'SemVer', description: 'Number of the version. Without it, `displayedVersion`.' }) },
    resolve: (pkg, { version }, context) => (version == null ? displayedVersion(context, pkg) : findVersion(context, pkg, version)),
  }),
}))

builder.queryFields((t) => ({
  package: t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    type: PackageRef,
    nullable: true,
    description: 'Returns the package with this name, or null.',
    args: { name: t.arg.string({ required: true, description: 'Name of the package.' }) },
    resolve: (_root, { name }, context) => findPackage(context, name),
  }),
  packageNames: t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    extensions: { size: 1000 },
    type: ['String'],
    description: 'Names of all packages, in order.',
    args: { withUnlisted: t.arg.boolean({ description: 'Whether to include unlisted packages. Defaults to false.' }) },
    resolve: (_root, { withUnlisted }, context) => listPackageNames(context, { withUnlisted: withUnlisted ?? false }),
  }),
}))

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
      resolve: (_root, args, context) => listPackages(context, args),
    },
    connectionOf(PackageRef),
  ),
)

builder.objectField(PackageRef, 'versions', (t) =>
  t.connection(
    {
      ...ofPublicPackage,
      type: PackageVersionRef,
      description: 'All versions, highest first.',
      args: {
        query: t.arg.string(partOf('A constraint such as `^1.2.0`, or part of a version number.', 'filter')),
        direction: t.arg({ type: OrderDirection, description: 'DESC for the highest version first, which is the default.' }),
        ascending: t.arg.boolean({ description: 'Whether to sort the lowest version first.', deprecationReason: replacedBy('direction') }),
      },
      resolve: (pkg, { query, direction, ascending, ...page }, context) => {
        const choice = { filter: query, direction: direction ?? (ascending ? 'asc' : null) }
        return pageByKey(page, {
          keyOf: ({ sortKey }: PackageVersion) => sortKey,
          isKey: anyText,
          load: (limit, after) => listVersions(context, pkg, choice, { limit, after }),
          count: () => countVersions(context, pkg, choice),
        })
      },
    },
    connectionOf(PackageVersionRef),
  ),
)

builder.objectField(PackageRef, 'activity', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      description: 'Activity log of the package, newest first. Requires permission to administer the package.',
      args: {
        kind: t.arg.string({ description: 'A kind such as `package.version_retracted`, or a prefix such as `package.`.' }),
        peopleOnly: t.arg.boolean({ description: 'Whether to leave out what the server did itself, such as scoring.' }),
        olderThan: t.arg.id({ description: 'Returns only entries older than the entry with this UUID.' }),
        direction: t.arg(newestByDefault),
      },
      resolve: async (pkg, { kind, peopleOnly, olderThan, ...page }, context) => {
        if (!(await viewerCan(context, canSeeActivity, pkg)))
          throw insufficientPermissions(`Only administrators of ${pkg.name} can see its activity. Ask one of its uploaders.`)
        // An earlier, deleted package with the same name may have entries that belong to other users.
        return listAuditEntries(context.em, { kind, peopleOnly, olderThan, package: pkg.name, from: pkg.createdAt }, page)
      },
    },
    connectionOf(AuditEntryRef),
  ),
)

builder.objectField(UserRef, 'hasPublished', (t) =>
  t.boolean({
    nullable: true,
    authScopes: { scope: 'read' },
    description:
      'Whether the user has published a version of a package that they can still publish to. Null except for the user and administrators.',
    resolve: (user, _args, context) => (canSeeBelongings(context, user) ? loadHasPublished(context, user.id) : null),
  }),
)

const ownOrders = connectionOrders<OwnOrder>('OwnPackageOrder', "Sort order of a user's packages.", 'name', {
  name: { description: 'By name.', direction: 'asc' },
  published: { description: 'By the time of the newest publication.', direction: 'desc' },
})

builder.objectField(UserRef, 'packages', (t) =>
  t.connection(
    {
      type: PackageRef,
      nullable: true,
      authScopes: { scope: 'read' },
      description:
        'Packages that the user can publish to, as an uploader or as a member of the owning publisher. Null except for the user and administrators.',
      args: ownOrders.args,
      resolve: (user, args, context) =>
        canSeeBelongings(context, user) ? listOwnPackages(context.em, user.id, ownOrders.sortOf(args), args) : null,
    },
    connectionOf(PackageRef),
  ),
)
