import { builder } from '../builder.ts'
import { anyText, pageByKey } from '../connections.ts'
import { UserRef } from '../users/refs.ts'
import { Package, type PackageVersion } from './entity.ts'
import { canAdminister, canPublish } from './policy.ts'
import { PackageRef, PackageVersionRef } from './refs.ts'
import {
  countPackages,
  countVersions,
  findPackage,
  findVersion,
  listPackageNames,
  listPackages,
  listVersions,
  loadLatest,
  loadUploaders,
} from './service.ts'

builder.node(PackageRef, {
  description: 'A package: a name, and its versions.',
  authScopes: { scope: 'read' },
  id: { resolve: (pkg) => pkg.id },
  loadOne: (id, { em, viewer }) => (viewer ? em.findOne(Package, { id }) : null),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name, as in a pubspec.' }),
    description: t.exposeString('description', { description: 'What the latest version says it is for; empty when it says nothing.' }),
    url: t.field({
      type: 'URL',
      description: 'The page of the package on this server.',
      resolve: ({ name }, _args, { config }) => `${config.SERVER_URL}/packages/${name}`,
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When the first version was published.', resolve: (pkg) => pkg.createdAt }),
    updatedAt: t.field({ type: 'DateTime', description: 'When it last changed.', resolve: (pkg) => pkg.updatedAt }),
    latest: t.field({
      type: PackageVersionRef,
      nullable: true,
      description: 'The version that new users get: the highest stable one that is not retracted, else the highest pre-release.',
      resolve: (pkg, _args, context) => loadLatest(context, pkg.id),
    }),
    latestPrerelease: t.field({
      type: PackageVersionRef,
      nullable: true,
      description: 'The highest pre-release, when it is above the latest stable version.',
      resolve: (pkg, _args, { em }) => (pkg.latestPrerelease ? findVersion(em, pkg, pkg.latestPrerelease) : null),
    }),
    version: t.field({
      type: PackageVersionRef,
      nullable: true,
      description: 'One version, or null when there is no such.',
      args: { version: t.arg({ type: 'SemVer', required: true, description: 'Which one.' }) },
      resolve: (pkg, { version }, { em }) => findVersion(em, pkg, version),
    }),
  }),
})

builder.objectFields(PackageRef, (t) => ({
  versions: t.connection(
    {
      type: PackageVersionRef,
      description: 'All versions, the highest first.',
      resolve: (pkg, args, { em }) =>
        pageByKey(args, {
          keyOf: ({ sortKey }: PackageVersion) => sortKey,
          isKey: anyText,
          load: (limit, after) => listVersions(em, pkg, { limit, after }),
          count: () => countVersions(em, pkg),
        }),
    },
    { description: 'A page of versions.' },
    { description: 'A version in a page.' },
  ),
  uploaders: t.field({
    type: [UserRef],
    description: 'The people who are named as having write access.',
    resolve: async (pkg, _args, context) => ((await loadUploaders(context, pkg.id)) ?? []).map(({ user }) => user),
  }),
  viewerCanPublish: t.boolean({
    description: 'Whether you may publish versions.',
    resolve: async (pkg, _args, { em, viewer, scopes }) => viewer !== null && scopes.has('write') && canPublish(em, viewer, pkg),
  }),
  viewerCanAdminister: t.boolean({
    description: 'Whether you may change its options and uploaders.',
    resolve: async (pkg, _args, { em, viewer, scopes }) => viewer !== null && scopes.has('write') && canAdminister(em, viewer, pkg),
  }),
}))

builder.queryField('package', (t) =>
  t.withAuth({ scope: 'read' }).field({
    type: PackageRef,
    nullable: true,
    description: 'The package of this name, or null.',
    args: { name: t.arg.string({ required: true, description: 'Its name.' }) },
    resolve: (_root, { name }, { em }) => findPackage(em, name),
  }),
)

builder.queryField('packages', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: PackageRef,
      description: 'All packages by name.',
      args: { offset: t.arg.int({ description: 'How many to pass over first, for numbered pages; `after` is cheaper.' }) },
      resolve: (_root, args, { em }) =>
        pageByKey(args, {
          keyOf: ({ name }: Package) => name,
          isKey: anyText,
          load: (limit, after) => listPackages(em, { limit, after, offset: args.offset ?? undefined }),
          count: () => countPackages(em),
        }),
    },
    { description: 'A page of packages.' },
    { description: 'A package in a page.' },
  ),
)

builder.queryField('packageNames', (t) =>
  t.withAuth({ scope: 'read' }).field({
    type: ['String'],
    description: 'The names of all packages, in order.',
    args: { withUnlisted: t.arg.boolean({ description: 'Whether to name unlisted packages, too; false when left out.' }) },
    resolve: (_root, { withUnlisted }, { database }) => listPackageNames(database.reads, { withUnlisted: withUnlisted ?? false }),
  }),
)
