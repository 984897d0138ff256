import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { UserRef } from '../users/refs.ts'
import { PackageVersion } from './entity.ts'
import { installation } from './install.ts'
import { archiveUrl } from './listing.ts'
import { DependencyRef, EnvironmentRef, InstallationRef } from './pubspec-schema.ts'
import { pubspecOf, type PubspecView } from './pubspec-view.ts'
import { PackageRef, PackageVersionRef } from './refs.ts'
import { loadPackage, loadUser } from './service.ts'

builder.node(PackageVersionRef, {
  description: 'One published version. Its archive never changes.',
  authScopes: { scope: 'read' },
  id: { resolve: (version) => version.id },
  loadOne: (id, { em, viewer }) => (viewer ? em.findOne(PackageVersion, { id }) : null),
  fields: (t) => ({
    package: t.field({ type: PackageRef, description: 'The package.', resolve: packageOf }),
    version: t.field({ type: 'SemVer', description: 'The version.', resolve: ({ version }) => version }),
    isPrerelease: t.exposeBoolean('isPrerelease', { description: 'Whether it is a pre-release.' }),
    isRetracted: t.boolean({ description: 'Whether new users are kept from it.', resolve: ({ retractedAt }) => retractedAt != null }),
    retractedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was retracted.',
      resolve: ({ retractedAt }) => retractedAt ?? null,
    }),
    publishedAt: t.field({ type: 'DateTime', description: 'When it was published.', resolve: ({ createdAt }) => createdAt }),
    publishedBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who published it; null when that account is deleted.',
      resolve: ({ publishedBy }, _args, context) => (publishedBy ? loadUser(context, publishedBy.id) : null),
    }),
    archiveUrl: t.field({
      type: 'URL',
      description: 'Where the archive is, for whoever may read it.',
      resolve: async (version, _args, context) =>
        archiveUrl(context.config.SERVER_URL, (await packageOf(version, {}, context)).name, version.version),
    }),
    archiveSha256: t.exposeString('archiveSha256', { description: 'SHA-256 of the archive, in hex.' }),
    archiveBytes: t.field({ type: 'BigInt', description: 'Size of the archive in bytes.', resolve: ({ archiveBytes }) => archiveBytes }),
    install: t.field({
      type: InstallationRef,
      description: 'How to use it.',
      resolve: async (version, _args, context) => {
        const { name } = await packageOf(version, {}, context)
        return installation({ name, version: version.version, ...pubspecOf(version) }, context.config.SERVER_URL)
      },
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  pubspec: t.exposeString('pubspec', { description: 'The whole pubspec, as JSON text.' }),
  description: t.string({ nullable: true, description: 'What it says it is for.', resolve: from('description') }),
  homepage: t.field({ type: 'URL', nullable: true, description: 'Its home page.', resolve: from('homepage') }),
  repository: t.field({ type: 'URL', nullable: true, description: 'Where its sources are.', resolve: from('repository') }),
  issueTracker: t.field({ type: 'URL', nullable: true, description: 'Where to report problems.', resolve: from('issueTracker') }),
  documentation: t.field({ type: 'URL', nullable: true, description: 'Where its own documentation is.', resolve: from('documentation') }),
  topics: t.stringList({ description: 'Topics that its author gave it.', resolve: from('topics') }),
  funding: t.field({ type: ['URL'], description: 'Where to support its author.', resolve: from('funding') }),
  platforms: t.stringList({
    description: 'Platforms that its author declares; empty for none declared.',
    resolve: from('platforms'),
  }),
  executables: t.stringList({ description: 'Commands that it installs.', resolve: from('executables') }),
  needsFlutter: t.boolean({ description: 'Whether it works with Flutter only.', resolve: from('needsFlutter') }),
  environment: t.field({
    type: [EnvironmentRef],
    description: 'The SDK versions it works with.',
    resolve: from('environment'),
  }),
  dependencies: t.field({
    type: [DependencyRef],
    description: 'What it depends on: for its users first, then for its own development.',
    resolve: from('dependencies'),
  }),
}))

/** A field of the pubspec. */
function from<Key extends keyof PubspecView>(key: Key) {
  return (version: PackageVersion): PubspecView[Key] => pubspecOf(version)[key]
}

async function packageOf(version: PackageVersion, _args: object, context: Context) {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) throw new Error(`Version ${version.id} has no package`)
  return pkg
}
