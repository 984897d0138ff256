import type { ApiChanges, ApiVerdict } from '../../dart/changes.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { ofPublicVersion, PackageVersionRef } from '../../../registry/packages/refs.ts'
import { wordEnum } from '../../../platform/graphql/payload.ts'
import { type Comparison, compareVersions } from './service.ts'
import { loadApiVerdict } from './verdict.ts'

const ElementRef = builder.objectRef<ApiChanges['added'][number]>('ApiElement').implement({
  description: 'An element of the public API of a version.',
  fields: (t) => ({
    library: t.exposeString('library', { description: 'Path of the library that exports the element, relative to `lib/`.' }),
    kind: t.exposeString('kind', { description: 'Kind of the element, such as `class`, `method` or `library`.' }),
    name: t.exposeString('name', {
      description: 'Name of the element. Members are prefixed with their type and a dot; libraries have their path.',
    }),
    signature: t.exposeString('signature', { description: 'As it is declared.' }),
  }),
})

const ChangeRef = builder.objectRef<ApiChanges['changed'][number]>('ApiChange').implement({
  description: 'An element whose declaration changed.',
  fields: (t) => ({
    library: t.exposeString('library', { description: 'Path of the library that exports the element, relative to `lib/`.' }),
    kind: t.exposeString('kind', { description: 'Kind of the element, such as `class` or `method`.' }),
    name: t.exposeString('name', { description: 'Name of the element. Members are prefixed with their type and a dot.' }),
    before: t.exposeString('before', { description: 'Declaration before the change.' }),
    after: t.exposeString('after', { description: 'As it is declared.' }),
    breaks: t.exposeStringList('breaks', {
      extensions: { size: 3 },
      description: 'How the change can break code that uses the element. Empty if it is compatible.',
    }),
  }),
})

const ApiChangesRef = builder.objectRef<Comparison>('ApiChanges').implement({
  description: 'Differences between the public APIs of two versions.',
  fields: (t) => ({
    from: t.expose('from', { type: 'SemVer', description: 'The version to compare with.' }),
    isHonest: t.exposeBoolean('isHonest', {
      nullable: true,
      description:
        'Whether the version number reflects the changes, by semantic versioning. Null if the other version is not an earlier one.',
    }),
    verdict: t.exposeString('sentence', {
      nullable: true,
      description: 'How the version number is misleading, such as `2 removals in a minor release`. Null if it reflects the changes.',
    }),
    addedCount: t.int({ description: 'Number of added declarations and members.', resolve: ({ counts }) => counts.added }),
    removedCount: t.int({ description: 'Number of removed declarations and members.', resolve: ({ counts }) => counts.removed }),
    changedCount: t.int({ description: 'Number of changed declarations and members.', resolve: ({ counts }) => counts.changed }),
    added: t.field({
      type: [ElementRef],
      extensions: { size: 20 },
      description: 'The first 500 additions.',
      resolve: ({ changes }) => changes.added,
    }),
    removed: t.field({
      type: [ElementRef],
      extensions: { size: 20 },
      description: 'The first 500 removals.',
      resolve: ({ changes }) => changes.removed,
    }),
    changed: t.field({
      type: [ChangeRef],
      extensions: { size: 20 },
      description: 'The first 500 changes.',
      resolve: ({ changes }) => changes.changed,
    }),
  }),
})

builder.objectField(PackageVersionRef, 'apiChanges', (t) =>
  t.field({
    ...ofPublicVersion,
    // The cost limits the comparisons in a single query to the capacity of the queue (service.ts).
    extensions: { cost: 240 },
    type: ApiChangesRef,
    nullable: true,
    description:
      'Differences to the public API of another version. Null if the analysis of either version is missing or incomplete, or if either is not visible to you.',
    args: {
      from: t.arg({ type: 'SemVer', description: 'The version to compare with. Defaults to the previous one, as for `comparison`.' }),
    },
    resolve: (version, { from }, context) => compareVersions(context, version, from ?? null),
  }),
)

const VerdictEnum = wordEnum<ApiVerdict['verdict']>('ApiCompatibility', 'What changes of a public API mean for code that uses it.', {
  breaking: 'Something was removed, or changed so that existing code can break.',
  additive: 'Something was added or changed compatibly.',
  none: 'Nothing changed.',
})

const ApiVerdictRef = builder.objectRef<ApiVerdict>('ApiVerdict').implement({
  description: 'How the public API of a version differs from that of an earlier one, as found by its last analysis.',
  fields: (t) => ({
    from: t.expose('from', { type: 'SemVer', description: 'The earlier version.' }),
    compatibility: t.expose('verdict', { type: VerdictEnum, description: 'What the changes mean.' }),
    isHonest: t.exposeBoolean('isHonest', {
      nullable: true,
      description: 'Whether the version number reflects the changes, by semantic versioning. Null if that is unknown.',
    }),
  }),
})

builder.objectField(PackageVersionRef, 'apiVerdict', (t) =>
  t.field({
    ...ofPublicVersion,
    type: ApiVerdictRef,
    nullable: true,
    description:
      'How the public API changed since the previous version. Null until the version is analyzed, if that analysis or the earlier one is incomplete, and without an earlier version. Cheaper than `apiChanges`.',
    resolve: ({ id }, _args, context) => loadApiVerdict(context, id),
  }),
)
