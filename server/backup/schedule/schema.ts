import { builder } from '../../graphql/builder.ts'
import { type BackupSchedule, type BackupState, readSchedule } from './state.ts'

const MadeRef = builder.objectRef<NonNullable<BackupState['lastSuccess']>>('BackupMade').implement({
  description: 'A backup that is complete.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Its plain identifier, by which it is restored.' }),
    at: t.field({ type: 'DateTime', description: 'When it was complete.', resolve: ({ at }) => new Date(at) }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Its size in bytes, with the archives that it shares with other backups.' }),
    blobs: t.exposeInt('blobs', { description: 'How many archives and documentations belong to it.' }),
    lacking: t.exposeInt('lacking', { description: 'How many of those the server itself did not have whole, so that it lacks them.' }),
  }),
})

const FailureRef = builder.objectRef<NonNullable<BackupState['lastFailure']>>('BackupFailure').implement({
  description: 'A backup that failed.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'When it failed.', resolve: ({ at }) => new Date(at) }),
    reason: t.exposeString('reason', { description: 'Why.' }),
  }),
})

const ScheduleRef = builder.objectRef<BackupSchedule>('BackupSchedule').implement({
  description: 'Backups that the server makes by itself.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    place: t.exposeString('place', { description: 'Where they are: BACKUP_TO.' }),
    expression: t.exposeString('expression', { description: 'When they are made: a cron expression in UTC, BACKUP_SCHEDULE.' }),
    keep: t.exposeInt('keep', { description: 'How many stay: BACKUP_KEEP.' }),
    nextAt: t.expose('nextAt', { type: 'DateTime', nullable: true, description: 'When the next one is due; null when there is none.' }),
    lastSuccess: t.expose('lastSuccess', { type: MadeRef, nullable: true, description: 'The last one; null before the first.' }),
    lastFailure: t.expose('lastFailure', {
      type: FailureRef,
      nullable: true,
      description: 'The last failure, which may be older than the last backup; null before the first.',
    }),
  }),
})

builder.queryField('backupSchedule', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ScheduleRef,
    nullable: true,
    description: 'Backups that the server makes by itself; null when no setting asks for any. For administrators.',
    resolve: (_root, _args, { config, database, now }) => readSchedule(config, database.reads, now()),
  }),
)
