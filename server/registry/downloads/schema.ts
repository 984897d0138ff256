import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import type { Package } from '../packages/entity.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { loadDownloads30d, loadVersionDownloads, type VersionSeries, versionSeries, type Week, weeklyDownloads } from './service.ts'
import { downloadsByGroup, type GroupKind, type Grouping, maxWeeks, type VersionGroups } from './version-groups.ts'

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

const GroupingEnum = wordEnum<Grouping>('DownloadGrouping', 'How downloads are grouped by version.', {
  major: 'By major version, such as 2.x.',
  minor: 'By minor version, such as 2.1.x.',
})

const GroupKindEnum = wordEnum<GroupKind>('DownloadGroupKind', 'What a group of downloads contains.', {
  versions: 'The versions that the name describes.',
  other: 'All other versions together.',
  deleted: 'Versions that have been deleted.',
})

const GroupRef = builder.objectRef<VersionGroups['groups'][number]>('DownloadGroup').implement({
  description: 'Weekly downloads of a group of versions.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the group, such as 2.x.' }),
    kind: t.expose('kind', { type: GroupKindEnum, description: 'What the group contains.' }),
    downloads: t.exposeIntList('downloads', { extensions: { size: 52 }, description: 'Downloads in each week, oldest first.' }),
  }),
})

const VersionGroupsRef = builder.objectRef<VersionGroups>('DownloadsByVersion').implement({
  description: 'Weekly downloads of a package by groups of versions.',
  fields: (t) => ({
    weeks: t.field({
      extensions: { size: 52 },
      type: ['DateTime'],
      description: 'First day of each week, oldest first. The last week ends today.',
      resolve: ({ weeks }) => weeks,
    }),
    groups: t.field({
      extensions: { size: 9 },
      type: [GroupRef],
      description: 'The seven most downloaded groups, highest versions first, followed by other and deleted versions, if there are any.',
      resolve: ({ groups }) => groups,
    }),
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
      resolve: ({ pkg }, _args, { em, now }) => weeklyDownloads(em, pkg.id, now()),
    }),
    versions: t.field({
      extensions: { size: 10 },
      type: [VersionSeriesRef],
      description: 'Versions downloaded in the last 52 weeks, highest first.',
      resolve: ({ pkg }, _args, { em, now }) => versionSeries(em, pkg.id, now()),
    }),
    byVersion: t.field({
      extensions: { cost: 20 },
      type: VersionGroupsRef,
      description: `Weekly downloads by groups of versions. Weeks before the first download are omitted, except for the last 13.`,
      args: {
        by: t.arg({ type: GroupingEnum, defaultValue: 'major', required: true, description: 'How to group versions.' }),
        weeks: t.arg.int({
          defaultValue: 52,
          required: true,
          description: `Number of weeks, from 1 to ${maxWeeks}.`,
          validate: z.int().min(1, 'must be at least 1').max(maxWeeks, `must be at most ${maxWeeks}`),
        }),
      },
      resolve: ({ pkg }, { by, weeks }, { em, now }) => downloadsByGroup(em, pkg.id, { by, weeks, now: now() }),
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
