import { builder } from '../../platform/graphql/builder.ts'
import type { Context } from '../../platform/access/context.ts'
import { DependencyKind, DependencyRef, ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { pubspecOf } from '../packages/versions/pubspec.ts'
import { readableDependencies } from '../packages/versions/service.ts'
import { type ChangelogSection, changelogOf } from './changelog-section.ts'
import { FilesRef } from './file-schema.ts'
import { compareDependencies, compareSdks, type DependencyChange, type SdkChange } from './pubspec-changes.ts'
import { changedFiles, type Comparison, findComparison } from './service.ts'

const DependencyChangeRef = builder.objectRef<DependencyChange>('DependencyChange').implement({
  description: 'A dependency that only one of two versions has, or that they declare differently.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
    before: t.expose('before', { type: DependencyRef, nullable: true, description: 'In the earlier version; null if it was added.' }),
    after: t.expose('after', { type: DependencyRef, nullable: true, description: 'In the later version; null if it was removed.' }),
  }),
})

const SdkChangeRef = builder.objectRef<SdkChange>('SdkConstraintChange').implement({
  description: 'An SDK constraint that differs between two versions.',
  fields: (t) => ({
    sdk: t.exposeString('sdk', { description: 'Name of the SDK: `sdk` for Dart, `flutter`, or another.' }),
    before: t.exposeString('before', { nullable: true, description: 'Constraint of `from`; null if it states none.' }),
    after: t.exposeString('after', { nullable: true, description: 'Constraint of `to`; null if it states none.' }),
  }),
})

const ChangelogRef = builder.objectRef<ChangelogSection>('ChangelogExcerpt').implement({
  description: 'The part of a changelog about the versions after one and up to another.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Path of the changelog in the archive.' }),
    versions: t.field({
      type: ['SemVer'],
      extensions: { size: 20 },
      description: 'Versions with a section in this part, in the order of the changelog.',
      resolve: ({ versions }) => versions,
    }),
    source: t.exposeString('source', { description: 'The original text.' }),
    html: t.string({
      extensions: { cost: 10 },
      description: 'The text as sanitized HTML, as in `PackageDocument.html`.',
      resolve: (section, _args, context) => section.render(context),
    }),
  }),
})

const ComparisonRef = builder.objectRef<Comparison>('VersionComparison').implement({
  description: 'Differences between two versions of a package. `PackageVersion.apiChanges` compares their public APIs.',
  fields: (t) => ({
    from: t.expose('from', { type: PackageVersionRef, description: 'The version to compare with.' }),
    to: t.expose('to', { type: PackageVersionRef, description: 'The compared version.' }),
    dependencies: t.field({
      type: [DependencyChangeRef],
      extensions: { size: 10 },
      description: 'Dependencies that were added, removed or changed: direct ones first, each kind by name.',
      resolve: dependencyChanges,
    }),
    sdks: t.field({
      type: [SdkChangeRef],
      extensions: { size: 2 },
      description: 'SDK constraints that were added, removed or changed.',
      resolve: ({ from, to }) => compareSdks(pubspecOf(from).environment, pubspecOf(to).environment),
    }),
    changelog: t.field({
      type: ChangelogRef,
      nullable: true,
      extensions: { cost: 5 },
      description: 'Changelog of the higher version about the versions between the two. Null if it has no section about any of them.',
      resolve: (comparison, _args, context) => changelogOf(context, comparison),
    }),
    files: t.field({
      type: FilesRef,
      // The cost limits the archives that a single query can read.
      extensions: { cost: 200 },
      description: 'Differences between the files. Reads both archives.',
      resolve: async (comparison, _args, context) => ({ comparison, ...(await changedFiles(context, comparison)) }),
    }),
  }),
})

builder.objectField(PackageVersionRef, 'comparison', (t) =>
  t.field({
    ...ofPublicVersion,
    type: ComparisonRef,
    nullable: true,
    extensions: { cost: 5 },
    description:
      'Differences to another version. Null if you cannot see that version, or if there is no previous version to compare with by default.',
    args: {
      from: t.arg({
        type: 'SemVer',
        description:
          'The version to compare with. Defaults to the previous stable version, or for a pre-release to the previous version; retracted versions are the last choice.',
      }),
    },
    resolve: (version, { from }, context) => findComparison(context, version, from ?? null),
  }),
)

async function dependencyChanges({ from, to }: Comparison, _args: object, context: Context): Promise<DependencyChange[]> {
  const [before, after] = await Promise.all([readableDependencies(context, from), readableDependencies(context, to)])
  return compareDependencies(before, after)
}
