import { builder } from '../graphql/builder.ts'
import type { IntegrityReport } from './entity.ts'
import { type Finding, findingsOf, latestReport, requestCheck } from './service.ts'

export const FindingKind = builder.enumType('IntegrityFindingKind', {
  description: 'What is wrong with an archive in the store.',
  values: {
    MISSING: {
      value: 'missing',
      description: 'A version refers to an archive that is not there. Restore it from a backup, or delete the version.',
    },
    DAMAGED: {
      value: 'damaged',
      description: 'An archive has other bytes than were published. Restore it from a backup, or delete the version.',
    },
    ORPHAN: { value: 'orphan', description: 'An archive that no version refers to. It is removed a day after it was stored.' },
  } satisfies Record<Uppercase<Finding['kind']>, { value: Finding['kind']; description: string }>,
})

const FindingRef = builder.objectRef<Finding>('IntegrityFinding').implement({
  description: 'A problem with an archive in the store.',
  fields: (t) => ({
    kind: t.expose('kind', { type: FindingKind, description: 'What is wrong.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the package; null for an orphan.' }),
    version: t.expose('version', { type: 'SemVer', nullable: true, description: 'The version; null for an orphan.' }),
    sha256: t.exposeString('sha256', { description: 'The hash that the archive should have, in hex.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Its size in bytes.' }),
  }),
})

const ReportRef = builder.objectRef<IntegrityReport>('IntegrityReport').implement({
  description: 'What a check of the stored archives found.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    startedAt: t.expose('createdAt', { type: 'DateTime', description: 'When the check began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', description: 'When it ended.' }),
    archives: t.exposeInt('archives', { description: 'How many archives were read.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Their total size in bytes, as published.' }),
    missing: t.exposeInt('missing', { description: 'Archives that are not there.' }),
    damaged: t.exposeInt('damaged', { description: 'Archives with other bytes than were published.' }),
    orphans: t.exposeInt('orphans', { description: 'Archives that no version refers to.' }),
    orphanBytes: t.expose('orphanBytes', { type: 'BigInt', description: 'Total size of those, in bytes.' }),
    findings: t.field({ type: [FindingRef], description: 'The problems that were found, the first 500.', resolve: findingsOf }),
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
    description: 'Starts a check of all stored archives. Gives the plain identifier of the job.',
    resolve: (_root, _args, context) => requestCheck(context),
  }),
)
