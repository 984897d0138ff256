import { builder } from '../graphql/builder.ts'
import { countJobs } from '../jobs/queue.ts'
import { JobCountsRef } from '../jobs/refs.ts'
import { countDownloads30d } from '../downloads/roll.ts'
import type { Relation } from './relations.ts'
import {
  backendsOf,
  countResources,
  type Counts,
  type DatabaseReport,
  type Disk,
  diskUsage,
  reportDatabase,
  type Usage,
  uptimeOf,
} from './service.ts'

const UptimeRef = builder.objectRef<{ startedAt: Date; uptimeSeconds: number }>('Uptime').implement({
  description: 'How long this instance of the server has been running.',
  fields: (t) => ({
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was started.' }),
    uptimeSeconds: t.exposeInt('uptimeSeconds', { description: 'How long ago that was, in whole seconds.' }),
  }),
})

const CountsRef = builder.objectRef<Counts>('ResourceCounts').implement({
  description: 'How much there is of each.',
  fields: (t) => ({
    packages: t.exposeInt('packages', { description: 'Packages.' }),
    versions: t.exposeInt('versions', { description: 'Published versions, retracted ones included.' }),
    users: t.exposeInt('users', { description: 'Accounts, invited and disabled ones included.' }),
    publishers: t.exposeInt('publishers', { description: 'Publishers.' }),
    downloads30d: t.field({
      type: 'BigInt',
      description: 'Downloads of the last 30 days.',
      resolve: (_counts, _args, { database, now }) => countDownloads30d(database.heavyReads, now()),
    }),
  }),
})

const UsageRef = builder.objectRef<Usage>('DiskUsage').implement({
  description: 'How much room something takes.',
  fields: (t) => ({
    available: t.boolean({ description: 'Whether that could be found out.', resolve: ({ bytes }) => bytes !== null }),
    bytes: t.expose('bytes', { type: 'BigInt', nullable: true, description: 'Bytes; null when nobody can tell.' }),
  }),
})

const DiskRef = builder.objectRef<Disk>('Disk').implement({
  description: 'How much room the data of this server takes.',
  fields: (t) => ({
    archives: t.expose('archives', { type: UsageRef, description: 'The archives of all versions.' }),
    docs: t.expose('docs', { type: UsageRef, description: 'Generated documentation.' }),
    database: t.expose('database', { type: UsageRef, description: 'The database with its sidecar files.' }),
    total: t.expose('total', { type: UsageRef, description: 'All of it, when every part is known.' }),
    measuredAt: t.expose('measuredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When archives and documentation were measured, which is done again after a minute or later; null when they never were.',
    }),
  }),
})

const BackendsRef = builder.objectRef<ReturnType<typeof backendsOf>>('StorageBackends').implement({
  description: 'Which kind of storage holds what.',
  fields: (t) => ({
    database: t.exposeString('database', { description: '`sqlite` or `postgres`.' }),
    blobs: t.exposeString('blobs', { description: 'Where archives are: `filesystem` or `s3`.' }),
    docs: t.exposeString('docs', { description: 'Where generated documentation is: `blob` or `filesystem`.' }),
    search: t.exposeString('search', { description: 'The search index, a part of the database: `fts5` or `tsvector`.' }),
  }),
})

const RelationKind = builder.enumType('RelationKind', {
  description: 'What takes room in a database.',
  values: {
    TABLE: { value: 'table', description: 'A table with what it keeps beside its rows, such as long texts.' },
    INDEX: { value: 'index', description: 'An index.' },
  } satisfies Record<Uppercase<Relation['kind']>, { value: Relation['kind']; description: string }>,
})

const RelationRef = builder.objectRef<Relation>('DatabaseRelation').implement({
  description: 'A table or an index of the database.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    kind: t.expose('kind', { type: RelationKind, description: 'Which of the two.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Its size in bytes.' }),
    rows: t.expose('rows', {
      type: 'BigInt',
      nullable: true,
      description: "Rows, or entries of an index: counted on SQLite, the planner's estimate on PostgreSQL; null before there is one.",
    }),
  }),
})

const DatabaseReportRef = builder.objectRef<DatabaseReport>('DatabaseReport').implement({
  description: 'What the database engine says of itself.',
  fields: (t) => ({
    engine: t.exposeString('engine', { description: '`sqlite` or `postgresql`.' }),
    version: t.exposeString('version', { description: 'Its version.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'The size that it reports.' }),
    reclaimableBytes: t.expose('reclaimableBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'What a vacuum would free: free pages on SQLite; on PostgreSQL an estimate, out of its count of dead rows.',
    }),
    tables: t.expose('tables', {
      extensions: { size: 20 },
      type: [RelationRef],
      nullable: true,
      description: 'The twenty largest tables and indexes, the largest first; null when measuring took too long.',
    }),
    measuredAt: t.expose('measuredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When tables and indexes were measured; null when they never were.',
    }),
  }),
})

const StatisticsRef = builder.objectRef<object>('ServerStatistics').implement({
  description: 'How much there is on this server, and where.',
  fields: (t) => ({
    uptime: t.field({
      type: UptimeRef,
      description: 'How long it has been running.',
      resolve: (_stats, _args, context) => uptimeOf(context),
    }),
    counts: t.field({
      type: CountsRef,
      description: 'How much there is of each.',
      resolve: (_stats, _args, context) => countResources(context),
    }),
    disk: t.field({ type: DiskRef, description: 'How much room it takes.', resolve: (_stats, _args, context) => diskUsage(context) }),
    backends: t.field({ type: BackendsRef, description: 'Where it is.', resolve: (_stats, _args, context) => backendsOf(context) }),
    database: t.field({
      type: DatabaseReportRef,
      nullable: true,
      description: 'What the database engine says of itself; null when it does not, as for a lack of rights.',
      resolve: (_stats, _args, context) => reportDatabase(context),
    }),
    jobs: t.field({
      type: JobCountsRef,
      description: 'Work beside requests.',
      resolve: (_stats, _args, { database }) => countJobs(database.reads),
    }),
  }),
})

builder.queryField('serverStatistics', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: StatisticsRef,
    description: 'How much there is on this server, and where; for administrators.',
    resolve: () => ({}),
  }),
)
