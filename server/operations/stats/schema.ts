import { builder } from '../../platform/graphql/builder.ts'
import { countJobs } from '../../platform/jobs/queue.ts'
import { JobCountsRef } from '../../platform/jobs/schema.ts'
import { countDownloads30d } from '../../registry/downloads/service.ts'
import type { Relation } from './measurement.ts'
import { backendsOf, countResources, diskUsage, reportDatabase, uptimeOf } from './service.ts'

const UptimeRef = builder.objectRef<ReturnType<typeof uptimeOf>>('Uptime').implement({
  description: 'Uptime of this instance of the server.',
  fields: (t) => ({
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'Start time.' }),
    uptimeSeconds: t.exposeInt('uptimeSeconds', { description: 'Seconds since the start.' }),
  }),
})

const CountsRef = builder.objectRef<Awaited<ReturnType<typeof countResources>>>('ResourceCounts').implement({
  description: 'Numbers of resources.',
  fields: (t) => ({
    packages: t.exposeInt('packages', { description: 'Packages.' }),
    versions: t.exposeInt('versions', { description: 'Published versions, retracted ones included.' }),
    users: t.exposeInt('users', { description: 'Accounts of people, invited and disabled ones included.' }),
    publishers: t.exposeInt('publishers', { description: 'Publishers.' }),
    downloads30d: t.field({
      type: 'BigInt',
      description: 'Downloads of the last 30 days.',
      resolve: (_counts, _args, { database, now }) => countDownloads30d(database.reads, now()),
    }),
  }),
})

const UsageRef = builder.objectRef<{ bytes: number | null }>('DiskUsage').implement({
  description: 'Disk usage of one kind of data.',
  fields: (t) => ({
    available: t.boolean({ description: 'Whether the size is known.', resolve: ({ bytes }) => bytes !== null }),
    bytes: t.expose('bytes', { type: 'BigInt', nullable: true, description: 'Size in bytes; null if unknown.' }),
  }),
})

const DiskRef = builder.objectRef<Awaited<ReturnType<typeof diskUsage>>>('Disk').implement({
  description: 'Disk usage of the server.',
  fields: (t) => ({
    archives: t.expose('archives', { type: UsageRef, description: 'The archives of all versions.' }),
    docs: t.expose('docs', { type: UsageRef, description: 'Generated documentation.' }),
    database: t.expose('database', { type: UsageRef, description: 'The database with its sidecar files.' }),
    total: t.expose('total', { type: UsageRef, description: 'Sum of all parts, if every part is known.' }),
    measuredAt: t.expose('measuredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time when archives and documentation were measured; null if never. Measured again after one minute at the earliest.',
    }),
  }),
})

const BackendsRef = builder.objectRef<ReturnType<typeof backendsOf>>('StorageBackends').implement({
  description: 'Storage backends by kind of data.',
  fields: (t) => ({
    database: t.exposeString('database', { description: '`sqlite` or `postgres`.' }),
    blobs: t.exposeString('blobs', { description: 'Storage of archives: `filesystem` or `s3`.' }),
    docs: t.exposeString('docs', { description: 'Storage of generated documentation: `blob` or `filesystem`.' }),
    search: t.exposeString('search', { description: 'Search index of the database: `fts5` or `tsvector`.' }),
  }),
})

const RelationKind = builder.enumType('RelationKind', {
  description: 'Kind of a database object.',
  values: {
    TABLE: { value: 'table', description: 'A table, including large values stored outside of its rows.' },
    INDEX: { value: 'index', description: 'An index.' },
  } satisfies Record<Uppercase<Relation['kind']>, { value: Relation['kind']; description: string }>,
})

const RelationRef = builder.objectRef<Relation>('DatabaseRelation').implement({
  description: 'A table or an index of the database.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the table or index.' }),
    kind: t.expose('kind', { type: RelationKind, description: 'Table or index.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Its size in bytes.' }),
    rows: t.expose('rows', {
      type: 'BigInt',
      nullable: true,
      description:
        "Number of rows or index entries: counted on SQLite, the planner's estimate on PostgreSQL; null if there is no estimate yet.",
    }),
  }),
})

const DatabaseReportRef = builder.objectRef<NonNullable<Awaited<ReturnType<typeof reportDatabase>>>>('DatabaseReport').implement({
  description: 'Statistics reported by the database engine.',
  fields: (t) => ({
    engine: t.exposeString('engine', { description: '`sqlite` or `postgresql`.' }),
    version: t.exposeString('version', { description: 'Version of the engine.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Size of the database in bytes.' }),
    reclaimableBytes: t.expose('reclaimableBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'Bytes that a vacuum would free: free pages on SQLite; an estimate based on dead rows on PostgreSQL.',
    }),
    tables: t.expose('tables', {
      extensions: { size: 20 },
      type: [RelationRef],
      nullable: true,
      description: 'The twenty largest tables and indexes, largest first; null if measuring took too long.',
    }),
    measuredAt: t.expose('measuredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time when tables and indexes were measured; null if never.',
    }),
  }),
})

export const StatisticsRef = builder.objectRef<object>('ServerStatistics').implement({
  description: 'Statistics of the server.',
  fields: (t) => ({
    uptime: t.field({ type: UptimeRef, description: 'Uptime of this instance.', resolve: (_stats, _args, context) => uptimeOf(context) }),
    counts: t.field({
      type: CountsRef,
      description: 'Numbers of resources.',
      resolve: (_stats, _args, context) => countResources(context),
    }),
    disk: t.field({ type: DiskRef, description: 'Disk usage.', resolve: (_stats, _args, context) => diskUsage(context) }),
    backends: t.field({ type: BackendsRef, description: 'Storage backends.', resolve: (_stats, _args, context) => backendsOf(context) }),
    database: t.field({
      type: DatabaseReportRef,
      nullable: true,
      description: 'Statistics reported by the database engine; null if unavailable, for example because permissions are missing.',
      resolve: (_stats, _args, context) => reportDatabase(context),
    }),
    jobs: t.field({
      type: JobCountsRef,
      description: 'Numbers of background jobs.',
      resolve: (_stats, _args, { database }) => countJobs(database.reads),
    }),
  }),
})

builder.queryField('serverStatistics', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: StatisticsRef,
    description: 'Statistics of the server. For administrators.',
    resolve: () => ({}),
  }),
)
