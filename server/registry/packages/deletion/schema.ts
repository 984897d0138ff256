import { builder } from '../../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { connectionOf, payload } from '../../../platform/graphql/payload.ts'
import { anyText, pageByKey } from '../../../platform/graphql/connections.ts'
import { ChainRef, DependencyKind, VisibilityEnum, PackageRef, packageOfRow } from '../refs.ts'
import { brokenBy, deletePackage, deleteVersion, requireVersion } from './service.ts'
import { affectedByDeletion, type AffectedDependent } from '../dependents/breakage.ts'
import { packageName } from '../parameters.ts'

builder.objectField(PackageRef, 'brokenByDeletion', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    extensions: { cost: 50, formerResult: 'names' },
    type: [ChainRef],
    description:
      'Public packages that would break if this package, or one version of it, were deleted: each as a chain of dependencies that ends with this package. For administrators.',
    args: { version: t.arg({ type: 'SemVer', description: 'The version to delete, which must exist. If omitted, the whole package.' }) },
    resolve: async (pkg, { version }, context) => {
      await requireVersion(context.em, pkg, version)
      return brokenBy(context.em, context, pkg, version)
    },
  }),
)

const AffectedDependentRef = builder.objectRef<AffectedDependent>('AffectedDependent').implement({
  description: 'A private or public package that depends on a package or version to be deleted. For administrators.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    package: t.field(packageOfRow),
    name: t.exposeString('name', { description: 'Name of the package.' }),
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Visibility of the package.' }),
    version: t.expose('version', {
      type: 'SemVer',
      description: 'The version with the dependency: the latest, or else the highest that has the dependency.',
    }),
    constraint: t.exposeString('constraint', { description: 'The version constraint, such as ^1.2.0; `any` for all versions.' }),
    kind: t.expose('kind', { type: DependencyKind, description: 'Kind of the dependency.' }),
    isBare: t.exposeBoolean('isBare', {
      description: 'Whether the dependency names no registry. Only clients with this server as their default registry resolve it here.',
    }),
    isBroken: t.exposeBoolean('isBroken', { description: 'Whether no remaining version would satisfy the constraint.' }),
  }),
})

builder.objectField(PackageRef, 'affectedByDeletion', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AffectedDependentRef,
      description:
        'All packages that depend on this one, or on just one version of it, including private packages, by name. For administrators.',
      args: { version: t.arg({ type: 'SemVer', description: 'The version to delete, which must exist. If omitted, the whole package.' }) },
      resolve: async (pkg, { version, ...page }, context) => {
        await requireVersion(context.em, pkg, version)
        const affected = await affectedByDeletion(context, pkg.name, version)
        return pageByKey(page, { keyOf: ({ name }: AffectedDependent) => name, isKey: anyText, ...affected })
      },
    },
    connectionOf(AffectedDependentRef),
  ),
)

const acceptBreakage = 'Whether to delete even if public packages break. Otherwise the deletion fails while public packages depend on it.'

const freeName =
  'Whether to free the name along with the package, so that it can be used again: here, and for a package of the mirrored server. Otherwise the name is reserved.'

builder.mutationField('deletePackage', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeletePackagePayload', 'A package that was deleted.', {
      deletedPackageId: { type: 'ID', description: 'Global id of the package.' },
    }),
    extensions: { formerResult: true },
    description: 'Deletes a package with all its versions. The version numbers cannot be reused.',
    typeOptions: { description: 'The package to delete.' },
    argOptions: { description: 'What to delete.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      acceptBreakage: t.input.boolean({ description: acceptBreakage }),
      freeName: t.input.boolean({ description: freeName }),
    },
    resolve: async (_root, { input }, context) => ({
      deletedPackageId: encodeGlobalID('Package', await deletePackage(context, input)),
    }),
  }),
)

builder.mutationField('deleteVersion', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('DeleteVersionPayload', 'A version that was deleted.', {
      deletedVersionId: { type: 'ID', description: 'Global id of the version.' },
    }),
    extensions: { formerResult: true },
    description: 'Deletes a version. The version number cannot be reused. Deleting the last version also deletes the package.',
    typeOptions: { description: 'The version to delete.' },
    argOptions: { description: 'What to delete.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Version to delete.' }),
      acceptBreakage: t.input.boolean({ description: acceptBreakage }),
      freeName: t.input.boolean({ description: freeName }),
    },
    resolve: async (_root, { input }, context) => ({
      deletedVersionId: encodeGlobalID('PackageVersion', await deleteVersion(context, input)),
    }),
  }),
)
