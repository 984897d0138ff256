import { builder } from '../../platform/graphql/builder.ts'
import { done } from '../../platform/graphql/payload.ts'
import type { LogLevel, ScoringLogEntry } from './entity.ts'
import { clearLog, listLog } from './log.ts'

const LevelEnum = builder.enumType('ScoringLogLevel', {
  description: 'Severity of a scoring log entry.',
  values: {
    INFO: { value: 'info', description: 'Normal operation.' },
    WARNING: { value: 'warning', description: 'Completed with a problem.' },
    ERROR: { value: 'error', description: 'Failure.' },
  } satisfies Record<Uppercase<LogLevel>, { value: LogLevel; description: string }>,
})

const EntryRef = builder.objectRef<ScoringLogEntry>('ScoringLogEntry').implement({
  description: 'An entry of the scoring log.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    at: t.expose('createdAt', { type: 'DateTime', description: 'When the entry was written.' }),
    level: t.expose('level', { type: LevelEnum, description: 'Severity.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the affected package.' }),
    version: t.exposeString('version', { nullable: true, description: 'The affected version.' }),
    message: t.exposeString('message', { description: 'Message text.' }),
  }),
})

builder.queryField('scoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: EntryRef,
      description: 'Scoring log, newest entries first, for administrators. The last 1,000 entries are kept.',
      args: {
        level: t.arg({ type: LevelEnum, description: 'Only entries of this level.' }),
        package: t.arg.string({ description: 'Only entries about the package with this name.' }),
      },
      resolve: (_root, args, { em }) => listLog(em, args, args),
    },
    { description: 'A page of the scoring log.' },
    { description: 'An entry in a page.' },
  ),
)

builder.mutationField('clearScoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Clears the scoring log, for administrators. Always true.',
    resolve: (_root, _args, context) => done(clearLog(context)),
  }),
)
