import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import type { IntegrityReport } from './entity.ts'
import { type Finding, findingsOf, latestReport, requestCheck } from './service.ts'
import { type HeldBack, heldBackCollection } from '../../platform/store/collect.ts'
import { type KnownFault, knownFaults } from '../../registry/packages/listing/faults.ts'

const FindingKind = builder.enumType('IntegrityFindingKind', {
  description: 'Kind of a problem with a stored archive.',
  values: {
    MISSING: {
      value: 'missing',
      description: 'The archive of a version is missing. Restore it from a backup, or delete the version.',
    },
    DAMAGED: {
      value: 'damaged',
      description: 'The content of an archive differs from the published one. Restore it from a backup, or delete the version.',
    },
    ORPHAN: { value: 'orphan', description: 'An archive that no version refers to. It is removed a day after it was stored.' },
  } satisfies Record<Uppercase<Finding['kind']>, { value: Finding['kind']; description: string }>,
})

const FindingRef = builder.objectRef<Finding>('IntegrityFinding').implement({
  description: 'A problem with a stored archive.',
  fields: (t) => ({
    kind: t.expose('kind', { type: FindingKind, description: 'Kind of the problem.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the package; null for an orphan.' }),
    version: t.expose('version', { type: 'SemVer', nullable: true, description: 'The version; null for an orphan.' }),
    sha256: t.exposeString('sha256', { description: 'Expected SHA-256 of the archive, in hex.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Its size in bytes.' }),
  }),
})

const ReportRef = builder.objectRef<IntegrityReport>('IntegrityReport').implement({
  description: 'Result of a check of the stored archives.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    startedAt: t.expose('createdAt', { type: 'DateTime', description: 'Start time of the check.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', description: 'End time of the check.' }),
    archives: t.exposeInt('archives', { description: 'Number of archives that were read.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Their total size in bytes, as published.' }),
    missing: t.exposeInt('missing', { description: 'Number of missing archives.' }),
    damaged: t.exposeInt('damaged', { description: 'Number of archives whose content differs from the published one.' }),
    orphans: t.exposeInt('orphans', { description: 'Number of archives that no version refers to.' }),
    orphanBytes: t.expose('orphanBytes', { type: 'BigInt', description: 'Total size of the orphaned archives in bytes.' }),
    findings: t.field({ type: [FindingRef], description: 'The first 500 problems.', resolve: findingsOf }),
  }),
})

builder.queryField('integrityReport', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ReportRef,
    nullable: true,
    description: 'Result of the last check of the stored archives; null before the first check. For administrators.',
    resolve: (_root, _args, { em }) => latestReport(em),
  }),
)

builder.mutationField('checkIntegrity', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: payload('CheckIntegrityPayload', 'A check that was queued.', {
      jobId: { type: 'ID', description: 'Plain identifier of the job.' },
    }),
    extensions: { formerResult: 'jobId' },
    description: 'Starts a check of all stored archives.',
    resolve: async (_root, _args, context) => ({ jobId: await requestCheck(context) }),
  }),
)

const FaultRef = builder.objectRef<KnownFault>('ArchiveFault').implement({
  description: 'An archive that cannot be served because it is missing or damaged. Removed from the list when the archive is intact again.',
  fields: (t) => ({
    kind: t.expose('kind', { type: FindingKind, description: 'Kind of the problem.' }),
    package: t.exposeString('package', { description: 'Name of the package.' }),
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    sha256: t.exposeString('sha256', { description: 'Expected SHA-256 of the archive, in hex.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Expected size in bytes.' }),
    foundAt: t.expose('foundAt', { type: 'DateTime', description: 'Time when the problem was found.' }),
  }),
})

const HeldBackRef = builder.objectRef<HeldBack>('HeldBackCollection').implement({
  description:
    'A collection of archives that no version refers to, on hold because it would remove more than 20 archives and more than 1% of all. ' +
    'To confirm it: `npm run admin -- collect --confirm`.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'Time when the collection was put on hold.', resolve: ({ at }) => new Date(at) }),
    archives: t.exposeInt('archives', { description: 'Number of archives that it would remove.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Their total size in bytes.' }),
    stored: t.exposeInt('stored', { description: 'Number of stored archives.' }),
  }),
})

builder.queryField('archiveFaults', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: [FaultRef],
    description: 'Archives that are known to be missing or damaged, newest finding first, at most 100. For administrators.',
    resolve: (_root, _args, { database }) => knownFaults(database.reads),
  }),
)

builder.queryField('heldBackCollection', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: HeldBackRef,
    nullable: true,
    description: 'The collection of unused archives that an administrator must confirm, if any. For administrators.',
    resolve: (_root, _args, { database }) => heldBackCollection(database.reads),
  }),
)
