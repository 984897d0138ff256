import { builder } from '../../../platform/graphql/builder.ts'
import { anyText, pageByKey } from '../../../platform/graphql/connections.ts'
import type { PackageVersion } from '../entity.ts'
import { ofPublicPackage, PackageRef, PackageVersionRef } from '../refs.ts'
import {
  countVersions,
  descriptionOf,
  displayedVersion,
  findVersion,
  latestPrerelease,
  latestVersion,
  listVersions,
  datesOf,
} from './service.ts'

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
}))

builder.objectFields(PackageRef, (t) => ({
  description: t.string({
    ...ofPublicPackage,
    description: 'Description from the latest version; may be empty.',
    resolve: (pkg, _args, context) => descriptionOf(context, pkg),
  }),
  latest: t.field({
    ...ofPublicPackage,
    type: PackageVersionRef,
    nullable: true,
    description:
      'The version that new users get: the highest stable version that is not retracted, or else the highest pre-release. Null if all versions are retracted.',
    resolve: (pkg, _args, context) => latestVersion(context, pkg),
  }),
  displayedVersion: t.field({
    ...ofPublicPackage,
    type: PackageVersionRef,
    nullable: true,
    description: 'The version that pages show: `latest`, or the highest version if all are retracted.',
    resolve: (pkg, _args, context) => displayedVersion(context, pkg),
  }),
  latestPrerelease: t.field({
    ...ofPublicPackage,
    type: PackageVersionRef,
    nullable: true,
    description: 'The highest pre-release, if it is higher than the latest stable version.',
    resolve: (pkg, _args, context) => latestPrerelease(context, pkg),
  }),
  version: t.field({
    ...ofPublicPackage,
    type: PackageVersionRef,
    nullable: true,
    description: 'One version; null if it does not exist.',
    args: { version: t.arg({ type: 'SemVer', required: true, description: 'Number of the version.' }) },
    resolve: (pkg, { version }, context) => findVersion(context, pkg, version),
  }),
}))

builder.objectField(PackageRef, 'versions', (t) =>
  t.connection(
    {
      ...ofPublicPackage,
      type: PackageVersionRef,
      description: 'All versions, highest first.',
      args: {
        filter: t.arg.string({
          description: 'A constraint such as `^1.2.0`, or part of a version number.',
          extensions: { maxLength: 200 },
        }),
        ascending: t.arg.boolean({ description: 'Whether to sort the lowest version first.' }),
      },
      resolve: (pkg, { filter, ascending, ...page }, context) => {
        const choice = { filter, ascending: ascending ?? false }
        return pageByKey(page, {
          keyOf: ({ sortKey }: PackageVersion) => sortKey,
          isKey: anyText,
          load: (limit, after) => listVersions(context, pkg, choice, { limit, after }),
          count: () => countVersions(context, pkg, choice),
        })
      },
    },
    { description: 'A page of versions.' },
    { description: 'A version in a page.' },
  ),
)
