import { publicUrl } from '../../../platform/http/public-url.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import type { Context } from '../../../platform/access/context.ts'
import { UserRef } from '../../../accounts/users/refs.ts'
import type { PackageVersion } from '../entity.ts'
import { installation } from '../install.ts'
import { archiveUrl } from '../../../platform/pub/package-name.ts'
import { DependencyRef, EnvironmentRef, InstallationRef } from './pubspec-schema.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { pubspecOf } from './pubspec.ts'
import { ofPublicVersion, PackageRef, PackageVersionRef } from '../refs.ts'
import { loadPackage } from '../service.ts'
import { loadUser } from '../../../accounts/users/service.ts'
import { findVersionById, readableDependencies, readablePubspec } from './service.ts'

builder.node(PackageVersionRef, {
  description: 'One published version. Its archive never changes.',
  authScopes: { scope: 'read' },
  id: { ...ofPublicVersion, resolve: (version) => version.id },
  loadOne: (id, context) => findVersionById(context, id),
  fields: (t) => ({
    package: t.field({ ...ofPublicVersion, type: PackageRef, description: 'The package.', resolve: packageOf }),
    version: t.expose('version', { ...ofPublicVersion, type: 'SemVer', description: 'The version.' }),
    isPrerelease: t.exposeBoolean('isPrerelease', { ...ofPublicVersion, description: 'Whether the version is a pre-release.' }),
    isRetracted: t.boolean({
      ...ofPublicVersion,
      description: 'Whether the version is retracted. Clients do not select retracted versions for new users.',
      resolve: ({ retractedAt }) => retractedAt != null,
    }),
    retractedAt: t.field({
      ...ofPublicVersion,
      type: 'DateTime',
      nullable: true,
      description: 'When the version was retracted.',
      resolve: ({ retractedAt }) => retractedAt ?? null,
    }),
    publishedAt: t.expose('createdAt', { ...ofPublicVersion, type: 'DateTime', description: 'When the version was published.' }),
    publishedBy: t.field({
      ...ofPublicVersion,
      type: UserRef,
      nullable: true,
      description: 'User who published the version; null if the account was deleted, and without signing in.',
      resolve: ({ publishedBy }, _args, context) => (publishedBy && context.viewer ? loadUser(context, publishedBy.id) : null),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  archiveUrl: t.field({
    ...ofPublicVersion,
    type: 'URL',
    description: 'Download URL of the archive.',
    resolve: async (version, _args, context) =>
      archiveUrl(publicUrl(context.request, context.config.SERVER_URL), (await packageOf(version, {}, context)).name, version.version),
  }),
  archiveSha256: t.exposeString('archiveSha256', { ...ofPublicVersion, description: 'SHA-256 of the archive, in hex.' }),
  archiveBytes: t.expose('archiveBytes', { ...ofPublicVersion, type: 'BigInt', description: 'Size of the archive in bytes.' }),
  install: t.field({
    ...ofPublicVersion,
    type: InstallationRef,
    description: 'How to use the version.',
    resolve: (version, _args, { config }) => installation(pubspecOf(version), config.SERVER_URL),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  pubspec: t.string({
    ...ofPublicVersion,
    description: 'The pubspec as JSON text.',
    resolve: (version, _args, context) => readablePubspec(context, version),
  }),
  description: t.string({ ...ofPublicVersion, nullable: true, description: 'Description from the pubspec.', resolve: from('description') }),
  homepage: t.field({ ...ofPublicVersion, type: 'URL', nullable: true, description: 'URL of the home page.', resolve: from('homepage') }),
  repository: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'URL of the source repository.',
    resolve: from('repository'),
  }),
  issueTracker: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'URL of the issue tracker.',
    resolve: from('issueTracker'),
  }),
  documentation: t.field({
    ...ofPublicVersion,
    type: 'URL',
    nullable: true,
    description: 'URL of the documentation that the pubspec names.',
    resolve: from('documentation'),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  topics: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 5 },
    description: 'Topics from the pubspec.',
    resolve: from('topics'),
  }),
  funding: t.field({
    ...ofPublicVersion,
    extensions: { size: 5 },
    type: ['URL'],
    description: 'URLs for funding the author.',
    resolve: from('funding'),
  }),
  platforms: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 6 },
    description: 'Platforms declared in the pubspec; empty if none are declared.',
    resolve: from('platforms'),
  }),
  executables: t.stringList({
    ...ofPublicVersion,
    extensions: { size: 5 },
    description: 'Names of the executables.',
    resolve: from('executables'),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  needsFlutter: t.boolean({ ...ofPublicVersion, description: 'Whether the package requires Flutter.', resolve: from('needsFlutter') }),
  environment: t.field({
    ...ofPublicVersion,
    extensions: { size: 2 },
    type: [EnvironmentRef],
    description: 'Supported SDK versions.',
    resolve: from('environment'),
  }),
  dependencies: t.field({
    ...ofPublicVersion,
    extensions: { size: 30 },
    type: [DependencyRef],
    description: 'Dependencies, followed by dev dependencies.',
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
