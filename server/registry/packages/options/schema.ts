import { z } from 'zod'
import { audienceOf } from '../../../platform/access/audience.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { payload } from '../../../platform/graphql/payload.ts'
import { nameFault } from '../../../platform/pub/package-name.ts'
import { updatePackageOptions } from './service.ts'
import { packageName } from '../parameters.ts'
import { ofPublicPackage, PackageRef } from '../refs.ts'
import { loadReadablePackage } from '../service.ts'

builder.objectFields(PackageRef, (t) => ({
  isDiscontinued: t.exposeBoolean('isDiscontinued', {
    ...ofPublicPackage,
    description: 'Whether the package is discontinued, that is, no longer maintained.',
  }),
  replacedBy: t.string({
    ...ofPublicPackage,
    nullable: true,
    description:
      'Name of the package to use instead, here or elsewhere, if this one is discontinued. Without signing in, only public packages of this server are named.',
    resolve: async ({ replacedBy }, _args, context) => {
      if (!replacedBy || audienceOf(context) === 'members') return replacedBy
      // Names of packages that are not on this server are withheld too. Otherwise a disappearing name would reveal that a private package exists.
      return (await loadReadablePackage(context, replacedBy)) && replacedBy
    },
  }),
  replacement: t.field({
    ...ofPublicPackage,
    type: PackageRef,
    nullable: true,
    description: 'The package to use instead, if this server has it.',
    resolve: ({ replacedBy }, _args, context) => (replacedBy ? loadReadablePackage(context, replacedBy) : null),
  }),
  isUnlisted: t.exposeBoolean('isUnlisted', {
    ...ofPublicPackage,
    description: 'Whether the package is excluded from search, lists and name completion.',
  }),
}))

const replacement = z
  .string()
  .superRefine((name, context) => {
    const fault = nameFault(name)
    if (fault) context.addIssue(fault)
  })
  .nullish()

builder.mutationField('updatePackageOptions', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('UpdatePackageOptionsPayload', 'A package with its options.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
    description: "Changes a package's options.",
    typeOptions: { description: 'Options to change. Omitted options keep their values.' },
    argOptions: { description: 'The package and its new options.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      isDiscontinued: t.input.boolean({ description: 'Whether the package is no longer maintained. False also removes the replacement.' }),
      replacedBy: t.input.string({
        description: 'Name of the package to use instead, or null. Only for discontinued packages.',
        validate: replacement,
      }),
      isUnlisted: t.input.boolean({ description: 'Whether to exclude the package from search, lists and name completion.' }),
    },
    resolve: async (_root, { input }, context) => ({ package: await updatePackageOptions(context, input.package, input) }),
  }),
)
