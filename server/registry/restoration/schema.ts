import { UserRef } from '../../accounts/users/refs.ts'
import { loadUser } from '../../accounts/users/service.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { isServerAdmin } from '../../platform/access/roles.ts'
import { newestFirst } from '../../platform/graphql/connections.ts'
import { connectionOf, payload } from '../../platform/graphql/payload.ts'
import { newestByDefault } from '../../platform/graphql/types.ts'
import { PackageRef, VisibilityEnum } from '../packages/refs.ts'
import { PublisherRef } from '../publishers/refs.ts'
import { DeletedPackage } from './entity.ts'
import { type KeptArchive, loadKept, loadObstacle, loadOwners, loadVersions, versionsShown } from './list.ts'
import { restorableFilter, deletionUndoneUntil, restoreDeleted } from './service.ts'

const DeletedRef = builder.objectRef<DeletedPackage>('DeletedPackage')

const VersionRef = builder.objectRef<KeptArchive>('DeletedVersion').implement({
  description: 'A deleted version that can be restored.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    archiveBytes: t.expose('archiveBytes', { type: 'BigInt', description: 'Size of the archive in bytes.' }),
  }),
})

builder.node(DeletedRef, {
  description: 'A deleted package, or a single deleted version of a package, that can be restored within seven days.',
  authScopes: { scope: 'admin' },
  id: { resolve: ({ id }) => id },
  loadOne: (id, { em, scopes, now }) => (isServerAdmin({ scopes }) ? em.findOne(DeletedPackage, { id, ...restorableFilter(now()) }) : null),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    isWholePackage: t.exposeBoolean('isWhole', { description: 'Whether the package was deleted, or one version of it.' }),
    deletedAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was deleted.' }),
    restorableUntil: t.field({ type: 'DateTime', description: 'Until when it can be restored.', resolve: deletionUndoneUntil }),
    deletedBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who deleted it; null if that account was deleted.',
      resolve: ({ deletedBy }, _args, context) => (deletedBy ? loadUser(context, deletedBy.id) : null),
    }),
    obstacle: t.string({
      nullable: true,
      description: 'Why it cannot be restored now, such as another package with its name; null if it can be.',
      resolve: ({ id }, _args, { em }) => loadObstacle({ em }, id),
    }),
  }),
})

builder.objectFields(DeletedRef, (t) => ({
  versionCount: t.exposeInt('versions', { description: 'Number of versions that would come back.' }),
  versions: t.field({
    extensions: { size: versionsShown },
    type: [VersionRef],
    description: `The newest versions that would come back, at most ${versionsShown}.`,
    resolve: async ({ id }, _args, { em }) => (await loadVersions({ em }, id))?.slice(0, versionsShown) ?? [],
  }),
  archiveBytes: t.field({
    type: 'BigInt',
    description: 'Size of all archives that would come back, in bytes.',
    resolve: async ({ id }, _args, { em }) =>
      ((await loadVersions({ em }, id)) ?? []).reduce((sum, { archiveBytes }) => sum + archiveBytes, 0),
  }),
}))

builder.objectFields(DeletedRef, (t) => ({
  visibility: t.field({
    type: VisibilityEnum,
    nullable: true,
    description: 'Visibility before the deletion; null for a version. A restored package is private.',
    resolve: async ({ id }, _args, { em }) => (await loadKept({ em }, id))?.visibility ?? null,
  }),
  likeCount: t.int({
    nullable: true,
    description: 'Likes that would come back; null for a version.',
    resolve: async ({ id }, _args, { em }) => (await loadKept({ em }, id))?.likes.length ?? null,
  }),
  downloads: t.int({
    nullable: true,
    description: 'Downloads in total before the deletion, which come back; null for a version.',
    resolve: async ({ id }, _args, { em }) =>
      (await loadKept({ em }, id))?.downloads.reduce((sum, [, downloads]) => sum + downloads, 0) ?? null,
  }),
  publisher: t.field({
    type: PublisherRef,
    nullable: true,
    description: 'The publisher that would own the package again; null if it had none or the publisher was deleted.',
    extensions: { cost: 5 },
    resolve: async ({ id }, _args, { em }) => (await loadOwners({ em }, id))?.publisher ?? null,
  }),
  uploaders: t.field({
    type: [UserRef],
    extensions: { cost: 5, size: 5 },
    description:
      'Uploaders who would own the package again. Without uploaders and a publisher, the restoring administrator becomes the uploader.',
    resolve: async ({ id }, _args, { em }) => (await loadOwners({ em }, id))?.uploaders ?? [],
  }),
}))

builder.queryField('deletedPackages', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: DeletedRef,
      description: 'Packages and versions that were deleted in the last seven days, newest first. For administrators.',
      args: { name: t.arg.string({ description: 'Only those of the package with this name.' }), direction: t.arg(newestByDefault) },
      resolve: (_root, { name, ...page }, { em, now }) =>
        newestFirst(em, DeletedPackage, { ...restorableFilter(now()), ...(name && { name }) }, page),
    },
    connectionOf(DeletedRef),
  ),
)

builder.mutationField('restoreDeletedPackage', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RestoreDeletedPackagePayload', 'The restored package.', { package: { type: PackageRef, description: 'The package.' } }),
    description:
      'Restores a package or a version that was deleted in the last seven days. A restored package is private. Its scores and documentation are made again. For administrators.',
    typeOptions: { description: 'What to restore.' },
    argOptions: { description: 'What to restore.' },
    input: {
      deletedPackageId: t.input.globalID({
        required: true,
        for: [DeletedRef],
        description: 'The deleted package or version.',
        ...formerly('id'),
      }),
    },
    resolve: async (_root, { input }, context) => ({ package: await restoreDeleted(context, input.deletedPackageId.id) }),
  }),
)
