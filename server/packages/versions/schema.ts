import { publicUrl } from '../../http/public-url.ts'
import { builder } from '../../graphql/builder.ts'
import type { Context } from '../../access/context.ts'
import { UserRef } from '../../users/refs.ts'
import type { PackageVersion } from '../entity.ts'
import { installation } from '../install.ts'
import { archiveUrl } from '../../pub/archive-name.ts'
import { DependencyRef, EnvironmentRef, InstallationRef } from './pubspec-schema.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { pubspecOf } from './pubspec.ts'
import { ofPublicVersion, PackageRef, PackageVersionRef } from '../refs.ts'
import { loadPackage } from '../service.ts'
import { loadUser } from '../../users/loader.ts'
import { findVersionById, readableDependencies, readablePubspec } from './service.ts'

builder.node(PackageVersionRef, {
  description: 'One published version. Its archive never changes.',
  authScopes: { scope: 'read' },
  id: { ...ofPublicVersion, resolve: (version) => version.id },
  loadOne: (id, context) => findVersionById(context, id),
  fields: (t) => ({
    package: t.field({ ...ofPublicVersion, type: PackageRef, description: 'The package.', resolve: packageOf }),
    version: t.expose('version', { ...ofPublicVersion, type: 'SemVer', description: 'The version.' }),
    isPrerelease: t.exposeBoolean('isPrerelease', { ...ofPublicVersion, description: 'Whether it is a pre-release.' }),
    isRetracted: t.boolean({
      ...ofPublicVersion,
      description: 'Whether it is retracted: clients do not choose it for new users.',
      resolve: ({ retractedAt }) => retractedAt != null,
    }),
    retractedAt: t.field({
      ...ofPublicVersion,
      type: 'DateTime',
      nullable: true,
      description: 'When it was retracted.',
      resolve: ({ retractedAt }) => retractedAt ?? null,
    }),
    publishedAt: t.expose('createdAt', { ...ofPublicVersion, type: 'DateTime', description: 'When it was published.' }),
    publishedBy: t.field({
      ...ofPublicVersion,
      type: UserRef,
      nullable: true,
      description: 'Who published it; null when that account is deleted, and without signing in.',
      resolve: ({ publishedBy }, _args, context) => (publishedBy && context.viewer ? loadUser(context, publishedBy.id) : null),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  archiveUrl: t.field({
    ...ofPublicVersion,
    type: 'URL',
    description: 'Where the archive is, for whoever may read it.',
    resolve: async (version, _args, context) =>
      archiveUrl(publicUrl(context.request, context.config.SERVER_URL), (await packageOf(version, {}, context)).name, version.version),
  }),
  archiveSha256: t.exposeString('archiveSha256', { ...ofPublicVersion, description: 'SHA-256 of the archive, in hex.' }),
  archiveBytes: t.expose('archiveBytes', { ...ofPublicVersion, type: 'BigInt', description: 'Size of the archive in bytes.' }),
  install: t.field({
    ...ofPublicVersion,
    type: InstallationRef,
    description: 'How to use it.',
    resolve: (version, _args, { config }) => installation(pubspecOf(version), config.SERVER_URL),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  pubspec: t.string({
    ...ofPublicVersion,
    description: 'The whole pubspec, as JSON text.',
    resolve: (version, _args, context) => readablePubspec(context, version),
  }),
  description: t.string({ ...ofPublicVersion, nullable: true, description: 'What it says it is for.', resolve: from('description') }),
  homepage: t.field({ ...ofPublicVersion, type: 'URL', nullable: true, description: 'Its home page.', resolve: from('homepage') }),
  repository: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'Where its sources are.',
    resolve: from('repository'),
  }),
  issueTracker: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'Where to report problems.',
    resolve: from('issueTracker'),
  }),
  documentation: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'Where its own documentation is.',
    resolve: from('documentation'),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  topics: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 5 },
    description: 'Topics that its author gave it.',
    resolve: from('topics'),
  }),
  funding: t.field({
    ...ofPublicVersion,
    extensions: { size: 5 },
    type: ['URL'],
    description: 'Where to support its author.',
    resolve: from('funding'),
  }),
  platforms: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 6 },
    description: 'Platforms that its author declares; empty for none declared.',
    resolve: from('platforms'),
  }),
  executables: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 5 },
    description: 'Commands that it installs.',
    resolve: from('executables'),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  needsFlutter: t.boolean({ ...ofPublicVersion, description: 'Whether it works with Flutter only.', resolve: from('needsFlutter') }),
  environment: t.field({
    ...ofPublicVersion,
    extensions: { size: 2 },
    type: [EnvironmentRef],
    description: 'The SDK versions it works with.',
    resolve: from('environment'),
  }),
  dependencies: t.field({
    ...ofPublicVersion,
    extensions: { size: 30 },
    type: [DependencyRef],
    description: 'What it depends on: for its users first, then for its own development.',
    resolve: (version, _args, context) => readableDependencies(context, version),
  }),
}))

/** Returns a resolver for a field of the pubspec. */
function from<Key extends keyof Pubspec>(key: Key) {
  return (version: PackageVersion): Pubspec[Key] => pubspecOf(version)[key]
}

async function packageOf(version: PackageVersion, _args: object, context: Context) {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) throw new Error(`Version ${version.id} has no package`)
  return pkg
}
