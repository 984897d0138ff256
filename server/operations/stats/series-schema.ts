import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { lowSpaceAt } from './forecast.ts'
import { dailySamples, freeBytesOf, type Sample, sampleDays, type StatisticsWeek, weeklyStatistics } from './samples.ts'
import { StatisticsRef } from './schema.ts'

const WeekRef = builder.objectRef<StatisticsWeek>('StatisticsWeek').implement({
  description: 'Activity on this server in one week.',
  fields: (t) => ({
    start: t.expose('start', { type: 'DateTime', description: 'First day of the week. The last week ends today.' }),
    publications: t.exposeInt('publications', { description: 'Versions published in the week that still exist.' }),
    downloads: t.exposeInt('downloads', { description: 'Downloads of archives.' }),
    activePeople: t.exposeInt('activePeople', {
      nullable: true,
      description: 'People who used the server in the 7 days before the last sample of the week; null if there is no sample.',
    }),
    activeTokens: t.exposeInt('activeTokens', {
      nullable: true,
      description: 'Access tokens that were used in the 7 days before the last sample of the week; null if there is no sample.',
    }),
  }),
})

const SampleRef = builder.objectRef<Sample>('DiskSample').implement({
  description: 'Disk usage on one day.',
  fields: (t) => ({
    day: t.expose('day', { type: 'DateTime', description: 'The day, in UTC.' }),
    archives: t.expose('archives', { type: 'BigInt', nullable: true, description: 'Size of all archives in bytes; null if unknown.' }),
    docs: t.expose('docs', { type: 'BigInt', nullable: true, description: 'Size of the documentation in bytes; null if unknown.' }),
    database: t.expose('database', { type: 'BigInt', nullable: true, description: 'Size of the database in bytes; null if unknown.' }),
    free: t.expose('free', {
      type: 'BigInt',
      nullable: true,
      description: 'Free space in bytes where the archives are stored, or else the database; null if neither is on a local disk.',
    }),
  }),
})

const [maxWeeks, defaultWeeks, defaultDays] = [104, 26, 90]

builder.objectFields(StatisticsRef, (t) => ({
  weeks: t.field({
    type: [WeekRef],
    description: 'Publications, downloads and activity per week, oldest first.',
    args: {
      first: t.arg.int({
        defaultValue: defaultWeeks,
        description: `Number of weeks up to today, at most ${maxWeeks}.`,
        validate: z.int().min(1).max(maxWeeks),
      }),
    },
    resolve: (_stats, { first }, context) => weeklyStatistics(context, first ?? defaultWeeks),
  }),
  diskSamples: t.field({
    type: [SampleRef],
    description: 'Disk usage, measured once a day, oldest first. Days on which no server was running are missing.',
    args: {
      first: t.arg.int({
        defaultValue: defaultDays,
        description: `Number of days up to today, at most ${sampleDays}.`,
        validate: z.int().min(1).max(sampleDays),
      }),
    },
    resolve: (_stats, { first }, context) => dailySamples(context, first ?? defaultDays),
  }),
  freeBytes: t.field({
    type: 'BigInt',
    nullable: true,
    description: 'Free space in bytes where the archives are stored, or else the database; null if neither is on a local disk.',
    resolve: (_stats, _args, { config }) => freeBytesOf(config),
  }),
  lowSpaceAt: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'When the free space falls below MIN_FREE_BYTES if the trend of the last 30 days continues; null with fewer than 7 samples, if the space does not fall, or if that is more than 2 years away.',
    resolve: (_stats, _args, context) => lowSpaceAt(context),
  }),
}))
