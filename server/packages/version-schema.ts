import { builder } from '../builder.ts'
import { UserRef } from '../users/schema.ts'
import { type DocumentKind, PackageVersion, documentKinds } from './entity.ts'
import { installation, type Installation } from './install.ts'
import { archiveUrl } from './listing.ts'
import { type Dependency, dependencyKinds, pubspecView } from './pubspec-view.ts'
import { DocumentRef, PackageRef, PackageVersionRef } from './refs.ts'
import { findDocument, loadPackage, loadUser } from './service.ts'

builder.node(PackageVersionRef, {
  description: 'One published version. Its archive never changes.',
  authScopes: { scope: 'read' },
  id: { resolve: (version) => version.id },
  loadOne: (id, { em, viewer }) => (viewer ? em.findOne(PackageVersion, { id }) : null),
  fields: (t) => ({
    package: t.field({ type: PackageRef, nullable: true, description: 'The package.', resolve: (version, _args, context) => loadPackage(context, version.package.id) }),
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
      description: 'Where its archive is, for whoever may read it.',
      resolve: async (version, _args, context) => archiveUrl(context.config.SERVER_URL, await nameOf(context, version), version.version),
    }),
    archiveSha256: t.exposeString('archiveSha256', { description: 'SHA-256 of the archive, in hex.' }),
    archiveBytes: t.field({ type: 'BigInt', description: 'Size of the archive in bytes.', resolve: ({ archiveBytes }) => archiveBytes }),
    pubspec: t.exposeString('pubspec', { description: 'The whole pubspec, as JSON text.' }),
  }),
})
