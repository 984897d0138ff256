import { builder } from '../graphql/builder.ts'
import type { IntegrityReport } from './entity.ts'
import { type Finding, findingsOf, latestReport, requestCheck } from './service.ts'

export const FindingKind = builder.enumType('IntegrityFindingKind', {
  description: 'What is wrong with stored bytes.',
  values: {
    MISSING: {
      value: 'missing',
      description: 'A version names an archive that is not there. Restore it from a backup, or delete the version.',
    },
    DAMAGED: {
      value: 'damaged',
      description: 'An archive has other bytes than were published. Restore it from a backup, or delete the version.',
    },
    ORPHAN: { value: 'orphan', description: 'Stored bytes that no version names. They are removed a day after they came.' },
  } satisfies Record<Uppercase<Finding['kind']>, { value: Finding['kind']; description: string }>,
})

const FindingRef = builder.objectRef<Finding>('IntegrityFinding').implement({
  description: 'Something that is wrong with stored bytes.',
  fields: (t) => ({
    kind: t.expose('kind', { type: FindingKind, description: 'What.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the package; null for an orphan.' }),
    version: t.expose('version', { type: 'SemVer', nullable: true, description: 'The version; null for an orphan.' }),
    sha256: t.exposeString('sha256', { description: 'The hash that the bytes should have, in hex.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'How many bytes.' }),
  }),
})

const ReportRef = builder.objectRef<IntegrityReport>('IntegrityReport').implement({
  description: 'What a check of the stored archives found.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    startedAt: t.expose('createdAt', { type: 'DateTime', description: 'When the check began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', description: 'When it ended.' }),
    archives: t.exposeInt('archives', { description: 'How many archives were read.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'How many bytes they should have.' }),
    missing: t.exposeInt('missing', { description: 'Archives that are not there.' }),
    damaged: t.exposeInt('damaged', { description: 'Archives with other bytes than were published.' }),
    orphans: t.exposeInt('orphans', { description: 'Stored bytes that no version names.' }),
    orphanBytes: t.expose('orphanBytes', { type: 'BigInt', description: 'What those take.' }),
    findings: t.field({ type: [FindingRef], description: 'What is wrong, the first 500.', resolve: findingsOf }),
  }),
})

builder.queryField('integrityReport', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ReportRef,
    nullable: true,
    description: 'What the last check of the stored archives found; null before the first one. For administrators.',
    resolve: (_root, _args, { em }) => latestReport(em),
  }),
)

builder.mutationField('checkIntegrity', (t) =>
  t.withAuth({ scope: 'admin' }).id({
    description: 'Has all stored archives checked; gives the plain identifier of the job.',
    resolve: (_root, _args, context) => requestCheck(context),
  }),
)
