import { builder } from '../../platform/graphql/builder.ts'
import type { Package } from '../packages/entity.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { loadDownloads30d, loadVersionDownloads, type VersionSeries, versionSeries, type Week, weeklyDownloads } from './service.ts'

const WeekRef = builder.objectRef<Week>('WeekOfDownloads').implement({
  description: 'Downloads in one week.',
  fields: (t) => ({
    start: t.expose('start', { type: 'DateTime', description: 'First day of the week. The last week ends today.' }),
    downloads: t.exposeInt('downloads', { description: 'Number of downloads.' }),
  }),
})

const VersionSeriesRef = builder.objectRef<VersionSeries>('VersionDownloads').implement({
  description: 'Downloads of a version.',
  fields: (t) => ({
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    last30Days: t.exposeInt('last30Days', { description: 'Downloads today and on the 29 days before.' }),
    weeks: t.intList({ description: 'Downloads in each of the last 52 weeks, oldest first.', resolve: ({ weeks }) => weeks }),
  }),
})

const DownloadsRef = builder.objectRef<{ pkg: Package }>('PackageDownloads').implement({
  description: 'Downloads of a package, excluding search engines and mirrors.',
  fields: (t) => ({
    last30Days: t.int({
      description: 'Downloads today and on the 29 days before.',
      resolve: async ({ pkg }, _args, context) => (await loadDownloads30d(context, pkg.id)) ?? 0,
    }),
    weeks: t.field({
      extensions: { size: 52 },
      type: [WeekRef],
      description: 'Downloads in each of the last 52 weeks, oldest first.',
      resolve: ({ pkg }, _args, { database, now }) => weeklyDownloads(database.reads, pkg.id, now()),
    }),
    versions: t.field({
      extensions: { size: 10 },
      type: [VersionSeriesRef],
      description: 'Versions downloaded in the last 52 weeks, highest first.',
      resolve: ({ pkg }, _args, { database, now }) => versionSeries(database.reads, pkg.id, now()),
    }),
  }),
})

builder.objectField(PackageRef, 'downloads', (t) =>
  t.field({
    ...ofPublicPackage,
    type: DownloadsRef,
    nullable: true,
    description: 'Downloads of the package; null without signing in.',
    resolve: (pkg, _args, { viewer }) => (viewer ? { pkg } : null),
  }),
)

builder.objectField(PackageVersionRef, 'downloads', (t) =>
  t.int({
    ...ofPublicVersion,
    nullable: true,
    description: 'Downloads since the version was published; null without signing in.',
    resolve: async (version, _args, context) => (context.viewer ? ((await loadVersionDownloads(context, version.id)) ?? 0) : null),
  }),
)
