import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { UserRef } from '../users/schema.ts'
import { type DocumentKind, PackageVersion } from './entity.ts'
import { installation } from './install.ts'
import { archiveUrl } from './listing.ts'
import { DependencyRef, EnvironmentRef, InstallationRef } from './pubspec-schema.ts'
import { pubspecOf } from './pubspec-view.ts'
import { DocumentRef, PackageRef, PackageVersionRef } from './refs.ts'
import { findDocument, loadPackage, loadUser } from './service.ts'

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
    retractedAt: t.field({ type: 'DateTime', nullable: true, description: 'When it was retracted.', resolve: ({ retractedAt }) => retractedAt ?? null }),
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
      resolve: async (version, _args, context) => archiveUrl(context.config.SERVER_URL, (await packageOf(version, {}, context)).name, version.version),
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
  description: t.string({ nullable: true, description: 'What it says it is for.', resolve: (version) => pubspecOf(version).description }),
  homepage: t.field({ type: 'URL', nullable: true, description: 'Its home page.', resolve: (version) => pubspecOf(version).homepage }),
  repository: t.field({ type: 'URL', nullable: true, description: 'Where its sources are.', resolve: (version) => pubspecOf(version).repository }),
  issueTracker: t.field({ type: 'URL', nullable: true, description: 'Where to report problems.', resolve: (version) => pubspecOf(version).issueTracker }),
  documentation: t.field({ type: 'URL', nullable: true, description: 'Where its own documentation is.', resolve: (version) => pubspecOf(version).documentation }),
  topics: t.stringList({ description: 'Topics that its author gave it.', resolve: (version) => pubspecOf(version).topics }),
  funding: t.field({ type: ['URL'], description: 'Where to support its author.', resolve: (version) => pubspecOf(version).funding }),
  platforms: t.stringList({ description: 'Platforms that its author declares; empty for none declared.', resolve: (version) => pubspecOf(version).platforms }),
  executables: t.stringList({ description: 'Commands that it installs.', resolve: (version) => pubspecOf(version).executables }),
  needsFlutter: t.boolean({ description: 'Whether it works with Flutter only.', resolve: (version) => pubspecOf(version).needsFlutter }),
  environment: t.field({ type: [EnvironmentRef], description: 'The SDK versions it works with.', resolve: (version) => pubspecOf(version).environment }),
  dependencies: t.field({ type: [DependencyRef], description: 'What it depends on: for its users first, then for its own development.', resolve: (version) => pubspecOf(version).dependencies }),
  readme: t.field({ type: DocumentRef, nullable: true, description: 'The README.', resolve: document('readme') }),
  changelog: t.field({ type: DocumentRef, nullable: true, description: 'The changelog.', resolve: document('changelog') }),
  license: t.field({ type: DocumentRef, nullable: true, description: 'The license.', resolve: document('license') }),
  example: t.field({ type: DocumentRef, nullable: true, description: 'An example of its use.', resolve: document('example') }),
}))

function document(kind: DocumentKind) {
  return async (version: PackageVersion, _args: object, { em }: Context) => {
    const found = await findDocument(em, version, kind)
    return found ? { document: found, version } : null
  }
}

async function packageOf(version: PackageVersion, _args: object, context: Context) {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) throw new Error(`Version ${version.id} has no package`)
  return pkg
}
