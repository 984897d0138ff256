import { z } from 'zod'
import { audienceOf } from '../../../platform/access/audience.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { payload } from '../../../platform/graphql/payload.ts'
import { nameFault } from '../../../platform/pub/package-name.ts'
import { updatePackageOptions, updateVersionOptions } from './service.ts'
import { packageName } from '../parameters.ts'
import { ofPublicPackage, PackageRef, ofPublicVersion, PackageVersionRef } from '../refs.ts'
import { loadReadablePackage, loadPackage } from '../service.ts'
import type { Context } from '../../../platform/access/context.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import type { PackageVersion } from '../entity.ts'
import { canRetract, isRestorable, isRetractable, restorableUntil, retractableUntil } from '../policy.ts'

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
      allowsManualPublishing: t.input.boolean({ description: 'Whether people can publish, in addition to jobs of trusted publishers.' }),
    },
    resolve: async (_root, { input }, context) => ({ package: await updatePackageOptions(context, input.package, input) }),
  }),
)

const deadline = { ...ofPublicVersion, type: 'DateTime', nullable: true } as const

builder.objectFields(PackageVersionRef, (t) => ({
  retractableUntil: t.field({
    ...deadline,
    description: 'Deadline for retracting the version; null if it is already retracted or this server sets no limit.',
    resolve: (version, _args, { config }) => retractableUntil(version, config),
  }),
  restorableUntil: t.field({
    ...deadline,
    description: 'Deadline for restoring the version; null if it is not retracted or this server sets no limit.',
    resolve: (version, _args, { config }) => restorableUntil(version, config),
  }),
  viewerCanRetract: t.boolean({
    ...ofPublicVersion,
    description: 'Whether you can retract the version now.',
    resolve: (version, _args, context) => isRetractable(version, context.config, context.now()) && canRetractOf(context, version),
  }),
  viewerCanRestore: t.boolean({
    ...ofPublicVersion,
    description: 'Whether you can restore the version now.',
    resolve: (version, _args, context) => isRestorable(version, context.config, context.now()) && canRetractOf(context, version),
  }),
}))

async function canRetractOf(context: Context, { package: { id } }: PackageVersion): Promise<boolean> {
  const pkg = context.viewer && (await loadPackage(context, id))
  return pkg !== null && viewerCan(context, canRetract, pkg)
}

builder.mutationField('updateVersionOptions', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('UpdateVersionOptionsPayload', 'A version that was retracted or restored.', {
      version: { type: PackageVersionRef, description: 'The version.' },
    }),
    description:
      'Retracts a version, so that clients no longer select it for new users, or restores it. Possible within 7 days unless this server sets no limit.',
    typeOptions: { description: 'A version to retract or restore.' },
    argOptions: { description: 'The version, and whether to retract or restore it.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Version to retract or restore.' }),
      isRetracted: t.input.boolean({ required: true, description: 'True retracts it, false restores it.' }),
    },
    resolve: async (_root, { input }, context) => ({ version: await updateVersionOptions(context, input) }),
  }),
)
