import { builder } from '../builder.ts'
import { brokenBy, deletePackage, deleteVersion } from './delete.ts'
import { packageName } from './parameters.ts'
import { PackageRef } from './refs.ts'

builder.objectField(PackageRef, 'brokenByDeletion', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: t.listRef(t.listRef('String')),
    description:
      'The public packages that would break if this one, or just one version of it, were deleted: each as names from itself down to this package. For administrators.',
    args: { version: t.arg({ type: 'SemVer', description: 'The version to delete; the whole package when left out.' }) },
    resolve: (pkg, { version }, context) => brokenBy(context.em, context, pkg, version),
  }),
)

const acceptBreakage = 'Whether public packages that depend on it may break. Otherwise they keep it from being deleted.'

const DeletePackageInput = builder.inputType('DeletePackageInput', {
  description: 'The package to delete.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Its name.', validate: packageName }),
    acceptBreakage: t.boolean({ description: acceptBreakage }),
  }),
})

builder.mutationField('deletePackage', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Deletes a package with all its versions, whose numbers stay taken. Always true.',
    args: { input: t.arg({ type: DeletePackageInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => {
      await deletePackage(context, input)
      return true
    },
  }),
)

const DeleteVersionInput = builder.inputType('DeleteVersionInput', {
  description: 'The version to delete.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of its package.', validate: packageName }),
    version: t.field({ type: 'SemVer', required: true, description: 'Which version.' }),
    acceptBreakage: t.boolean({ description: acceptBreakage }),
  }),
})

builder.mutationField('deleteVersion', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: 'Deletes a version, whose number stays taken; with its last version a package is deleted, too. Always true.',
    args: { input: t.arg({ type: DeleteVersionInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => {
      await deleteVersion(context, input)
      return true
    },
  }),
)
