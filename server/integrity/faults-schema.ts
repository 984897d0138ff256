import { builder } from '../graphql/builder.ts'
import { type HeldBack, heldBackCollection } from '../store/collect.ts'
import { type KnownFault, knownFaults } from '../packages/faults/faults.ts'
import { FindingKind } from './schema.ts'

const FaultRef = builder.objectRef<KnownFault>('ArchiveFault').implement({
  description: 'An archive that cannot be served: it is missing or damaged. It leaves the list when it is whole again.',
  fields: (t) => ({
    kind: t.expose('kind', { type: FindingKind, description: 'What is wrong with it.' }),
    package: t.exposeString('package', { description: 'Name of the package.' }),
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    sha256: t.exposeString('sha256', { description: 'The hash that the archive should have, in hex.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'How many bytes it should have.' }),
    foundAt: t.expose('foundAt', { type: 'DateTime', description: 'When this was found.' }),
  }),
})

const HeldBackRef = builder.objectRef<HeldBack>('HeldBackCollection').implement({
  description:
    'A collection of archives that no version refers to, on hold because it would remove more than 20 archives and more than a hundredth of all. ' +
    'To confirm it: `npm run admin -- collect --confirm`.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'When it was held back.', resolve: ({ at }) => new Date(at) }),
    archives: t.exposeInt('archives', { description: 'How many archives it would remove.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Their total size in bytes.' }),
    stored: t.exposeInt('stored', { description: 'How many archives are stored.' }),
  }),
})

builder.queryField('archiveFaults', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: [FaultRef],
    description: 'Archives that are known to be missing or damaged, the latest first, at most 100. For administrators.',
    resolve: (_root, _args, { database }) => knownFaults(database.reads),
  }),
)

builder.queryField('heldBackCollection', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: HeldBackRef,
    nullable: true,
    description: 'The collection of unused archives that an administrator has to confirm; null when there is none. For administrators.',
    resolve: (_root, _args, { database }) => heldBackCollection(database.reads),
  }),
)
