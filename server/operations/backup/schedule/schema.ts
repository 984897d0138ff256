import { builder } from '../../../platform/graphql/builder.ts'
import { type BackupSchedule, type BackupState, readSchedule } from './state.ts'

const MadeRef = builder.objectRef<NonNullable<BackupState['lastSuccess']>>('BackupMade').implement({
  description: 'A backup that is complete.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Identifier of the backup, used to restore it.' }),
    at: t.field({ type: 'DateTime', description: 'When the backup was completed.', resolve: ({ at }) => new Date(at) }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Size in bytes, including archives shared with other backups.' }),
    blobs: t.exposeInt('blobs', { description: 'Number of archives and documentations in the backup.' }),
    lacking: t.exposeInt('lacking', {
      description: 'Number of archives and documentations that were missing or damaged on the server itself and are not in the backup.',
    }),
  }),
})

const FailureRef = builder.objectRef<NonNullable<BackupState['lastFailure']>>('BackupFailure').implement({
  description: 'A backup that failed.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'When the backup failed.', resolve: ({ at }) => new Date(at) }),
    reason: t.exposeString('reason', { description: 'Why the backup failed.' }),
  }),
})

const ScheduleRef = builder.objectRef<BackupSchedule>('BackupSchedule').implement({
  description: 'The schedule of automatic backups.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    place: t.exposeString('place', { description: 'Location of the backups (BACKUP_TO).' }),
    expression: t.exposeString('expression', { description: 'Cron expression in UTC (BACKUP_SCHEDULE).' }),
    keep: t.exposeInt('keep', { description: 'Number of backups to keep (BACKUP_KEEP).' }),
    nextAt: t.expose('nextAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next backup is due; null if none is scheduled.',
    }),
    lastSuccess: t.expose('lastSuccess', {
      type: MadeRef,
      nullable: true,
      description: 'The last complete backup; null before the first one.',
    }),
    lastFailure: t.expose('lastFailure', {
      type: FailureRef,
      nullable: true,
      description: 'The last failure, which may be older than the last backup; null if no backup has failed.',
    }),
  }),
})

builder.queryField('backupSchedule', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ScheduleRef,
    nullable: true,
    description: 'The schedule of automatic backups; null if BACKUP_TO is not set. For administrators.',
    resolve: (_root, _args, { config, database, now }) => readSchedule(config, database.reads, now()),
  }),
)
