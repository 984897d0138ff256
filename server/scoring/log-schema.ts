import { builder } from '../graphql/builder.ts'
import { done } from '../graphql/payload.ts'
import type { LogLevel, ScoringLogEntry } from './entity.ts'
import { clearLog, listLog } from './log.ts'

const LevelEnum = builder.enumType('ScoringLogLevel', {
  description: 'How severe a line of the scoring log is.',
  values: {
    INFO: { value: 'info', description: 'Something was done.' },
    WARNING: { value: 'warning', description: 'Something was done otherwise than it should be.' },
    ERROR: { value: 'error', description: 'Something failed.' },
  } satisfies Record<Uppercase<LogLevel>, { value: LogLevel; description: string }>,
})

const EntryRef = builder.objectRef<ScoringLogEntry>('ScoringLogEntry').implement({
  description: 'A line of the scoring log.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it was written.' }),
    level: t.expose('level', { type: LevelEnum, description: 'How severe it is.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the package that it is about.' }),
    version: t.exposeString('version', { nullable: true, description: 'The version that it is about.' }),
    message: t.exposeString('message', { description: 'What happened.' }),
  }),
})

builder.queryField('scoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: EntryRef,
      description: 'What the analysis did, the newest line first; the newest 1,000 are kept. For administrators.',
      args: {
        level: t.arg({ type: LevelEnum, description: 'Only lines of this level.' }),
        package: t.arg.string({ description: 'Only lines about the package of this name.' }),
      },
      resolve: (_root, args, { em }) => listLog(em, args, args),
    },
    { description: 'A page of the scoring log.' },
    { description: 'A line in a page.' },
  ),
)

builder.mutationField('clearScoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Clears the scoring log, for administrators. Always true.',
    resolve: (_root, _args, context) => done(clearLog(context)),
  }),
)
