import { builder } from '../../platform/graphql/builder.ts'
import type { Context } from '../../platform/access/context.ts'
import { DependencyKind, DependencyRef, ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { pubspecOf } from '../packages/versions/pubspec.ts'
import { readableDependencies } from '../packages/versions/service.ts'
import { FilesRef } from './file-schema.ts'
import { changedFiles, changelogBetween, type ChangelogExcerpt, type Comparison, findComparison } from './service.ts'
import { compareParsed, known } from '../../platform/pub/version.ts'
import { findDocument, readSource, renderVersionDocument } from '../packages/versions/documents.ts'
import type { Dependency } from '../archive/dependencies.ts'
import type { Pubspec } from '../archive/pubspec.ts'

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

type ChangelogSection = ChangelogExcerpt & { path: string; render: (context: Context) => Promise<string> }

/** Returns the part of the higher version's changelog about the versions between the two, or null. */
async function changelogOf(context: Context, { from, to }: Comparison): Promise<ChangelogSection | null> {
  const [lower, higher] = compareParsed(known(from.version), known(to.version)) < 0 ? [from, to] : [to, from]
  const document = await findDocument(context, higher, 'changelog')
  if (!document) return null
  const excerpt = changelogBetween(await readSource(context, document), lower.version, higher.version)
  return excerpt && { ...excerpt, path: document.path, render: (reader) => renderVersionDocument(reader, document, excerpt.source) }
}

/** A dependency that only one of two versions has, or that they declare differently. */
type DependencyChange = { name: string; kind: Dependency['kind']; before: Dependency | null; after: Dependency | null }

/** An SDK constraint that differs between two versions. Null if a version does not state one. */
type SdkChange = { sdk: string; before: string | null; after: string | null }

/** Compares the dependencies of two versions: direct ones first, each kind ordered by name. */
function compareDependencies(earlier: readonly Dependency[], later: readonly Dependency[]): DependencyChange[] {
  const [before, after] = [byKey(earlier), byKey(later)]
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  const changes = keys.flatMap((key): DependencyChange[] => {
    const [old = null, current = null] = [before.get(key), after.get(key)]
    const one = current ?? old
    return one && !isSame(old, current) ? [{ name: one.name, kind: one.kind, before: old, after: current }] : []
  })
  return changes.sort((a, b) => (a.kind === b.kind ? (a.name < b.name ? -1 : 1) : a.kind === 'direct' ? -1 : 1))
}

/** Compares the SDK constraints of two versions. */
function compareSdks(earlier: Pubspec['environment'], later: Pubspec['environment']): SdkChange[] {
  const constraintIn = (list: Pubspec['environment'], wanted: string) => list.find(({ sdk }) => sdk === wanted)?.constraint ?? null
  const names = [...new Set([...earlier, ...later].map(({ sdk }) => sdk))]
  return names
    .map((sdk) => ({ sdk, before: constraintIn(earlier, sdk), after: constraintIn(later, sdk) }))
    .filter(({ before, after }) => before !== after)
}

const byKey = (list: readonly Dependency[]) => new Map(list.map((dependency) => [`${dependency.kind} ${dependency.name}`, dependency]))

const isSame = (a: Dependency | null, b: Dependency | null) =>
  a?.constraint === b?.constraint && a?.source === b?.source && a?.hostedUrl === b?.hostedUrl && a?.sdk === b?.sdk
