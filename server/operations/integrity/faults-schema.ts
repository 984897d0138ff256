import { builder } from '../../platform/graphql/builder.ts'
import { type HeldBack, heldBackCollection } from '../../platform/store/collect.ts'
import { type KnownFault, knownFaults } from '../../registry/packages/faults/faults.ts'
import { FindingKind } from './schema.ts'

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
