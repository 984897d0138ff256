import { z } from 'zod'
import { builder } from '../builder.ts'
import { nameFault } from '../uploads/package-name.ts'
import type { Package } from './entity.ts'
import { updatePackageOptions } from './options.ts'
import { packageName } from './parameters.ts'
import { PackageRef } from './refs.ts'
import { loadPackageByName } from './service.ts'

builder.objectFields(PackageRef, (t) => ({
  isDiscontinued: t.exposeBoolean('isDiscontinued', { description: 'Whether its authors have given it up.' }),
  replacedBy: t.string({
    nullable: true,
    description: 'Name of the package to use instead, here or elsewhere; only while it is discontinued.',
    resolve: ({ replacedBy }) => replacedBy ?? null,
  }),
  replacement: t.field({
    type: PackageRef,
    nullable: true,
    description: 'The package to use instead, when this server has it.',
    resolve: ({ replacedBy }, _args, context) => (replacedBy ? loadPackageByName(context, replacedBy) : null),
  }),
  isUnlisted: t.exposeBoolean('isUnlisted', { description: 'Whether it is kept out of search, lists and name completion.' }),
}))

const replacement = z
  .string()
  .superRefine((name, context) => {
    const fault = nameFault(name)
    if (fault) context.addIssue(fault)
  })
  .nullish()

const UpdatePackageOptionsInput = builder.inputType('UpdatePackageOptionsInput', {
  description: 'A package, and the options to change; what is left out stays.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of the package.', validate: packageName }),
    isDiscontinued: t.boolean({ description: 'Whether its authors have given it up. False also takes the replacement away.' }),
    replacedBy: t.string({
      description: 'Name of the package to use instead; null for none. Only for a discontinued package.',
      validate: replacement,
    }),
    isUnlisted: t.boolean({ description: 'Whether to keep it out of search, lists and name completion.' }),
  }),
})

const UpdatePackageOptionsPayload = builder.objectRef<{ package: Package }>('UpdatePackageOptionsPayload').implement({
  description: 'A package with its options.',
  fields: (t) => ({ package: t.expose('package', { type: PackageRef, description: 'The package.' }) }),
})

builder.mutationField('updatePackageOptions', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: UpdatePackageOptionsPayload,
    description: "Changes a package's options.",
    args: { input: t.arg({ type: UpdatePackageOptionsInput, required: true, description: 'Which package, and what to change.' }) },
    resolve: async (_root, { input }, context) => ({ package: await updatePackageOptions(context, input.package, input) }),
  }),
)
