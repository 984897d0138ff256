import type { ApiChanges } from '../../dart/changes.ts'
import { builder } from '../../graphql/builder.ts'
import { ofPublicVersion, PackageVersionRef } from '../../packages/refs.ts'
import { type Comparison, compareVersions } from './service.ts'

const ElementRef = builder.objectRef<ApiChanges['added'][number]>('ApiElement').implement({
  description: 'Something in the public API of a version.',
  fields: (t) => ({
    library: t.exposeString('library', { description: 'The library that shows it, by its path below `lib/`.' }),
    kind: t.exposeString('kind', { description: 'What it is, such as `class`, `method` or `library`.' }),
    name: t.exposeString('name', { description: 'Its name, with that of its type before a dot; the path of a library.' }),
    signature: t.exposeString('signature', { description: 'As it is declared.' }),
  }),
})

const ChangeRef = builder.objectRef<ApiChanges['changed'][number]>('ApiChange').implement({
  description: 'Something that is declared otherwise than before.',
  fields: (t) => ({
    library: t.exposeString('library', { description: 'The library that shows it, by its path below `lib/`.' }),
    kind: t.exposeString('kind', { description: 'What it is, such as `class` or `method`.' }),
    name: t.exposeString('name', { description: 'Its name, with that of its type before a dot.' }),
    before: t.exposeString('before', { description: 'As it was declared.' }),
    after: t.exposeString('after', { description: 'As it is declared.' }),
    breaks: t.exposeStringList('breaks', {
      extensions: { size: 3 },
      description: 'What code that uses it may stumble over; empty for a change that breaks none.',
    }),
  }),
})

const ApiChangesRef = builder.objectRef<Comparison>('ApiChanges').implement({
  description: 'How the public API of a version differs from that of another one.',
  fields: (t) => ({
    from: t.expose('from', { type: 'SemVer', description: 'The version that it is compared with.' }),
    isHonest: t.exposeBoolean('isHonest', {
      nullable: true,
      description:
        "Whether the version's number says what changed, by semantic versioning; null when the other one is not the earlier one.",
    }),
    verdict: t.exposeString('sentence', {
      nullable: true,
      description: 'What the number does not say, such as `2 removals in a minor release`; null for an honest number.',
    }),
    addedCount: t.int({ description: 'How many declarations and members were added.', resolve: ({ counts }) => counts.added }),
    removedCount: t.int({ description: 'How many were removed.', resolve: ({ counts }) => counts.removed }),
    changedCount: t.int({ description: 'How many are declared otherwise.', resolve: ({ counts }) => counts.changed }),
    added: t.field({
      type: [ElementRef],
      extensions: { size: 20 },
      description: 'What was added, the first 500.',
      resolve: ({ changes }) => changes.added,
    }),
    removed: t.field({
      type: [ElementRef],
      extensions: { size: 20 },
      description: 'What was removed, the first 500.',
      resolve: ({ changes }) => changes.removed,
    }),
    changed: t.field({
      type: [ChangeRef],
      extensions: { size: 20 },
      description: 'What is declared otherwise, the first 500.',
      resolve: ({ changes }) => changes.changed,
    }),
  }),
})

builder.objectField(PackageVersionRef, 'apiChanges', (t) =>
  t.field({
    ...ofPublicVersion,
    // No query may ask for more than have a place in line (service.ts).
    extensions: { cost: 240 },
    type: ApiChangesRef,
    nullable: true,
    description: 'How its public API differs from that of another version. Null when either was not analyzed, or is not for you.',
    args: { from: t.arg({ type: 'SemVer', description: 'The version to compare with; the one before when left out.' }) },
    resolve: (version, { from }, context) => compareVersions(context, version, from ?? null),
  }),
)
