import { builder } from '../../../platform/graphql/builder.ts'
import { payload } from '../../../platform/graphql/payload.ts'
import type { Context } from '../../../platform/access/context.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import type { PackageVersion } from '../entity.ts'
import { packageName } from '../parameters.ts'
import { canRetract, isRestorable, isRetractable, restorableUntil, retractableUntil } from '../policy.ts'
import { ofPublicVersion, PackageVersionRef } from '../refs.ts'
import { updateVersionOptions } from './service.ts'
import { loadPackage } from '../service.ts'

builder.objectFields(PackageVersionRef, (t) => ({
  retractableUntil: t.field({
    ...ofPublicVersion,
    type: 'DateTime',
    nullable: true,
    description: 'Deadline for retracting the version; null if it is already retracted or this server sets no limit.',
    resolve: (version, _args, { config }) => retractableUntil(version, config),
  }),
  restorableUntil: t.field({
    ...ofPublicVersion,
    type: 'DateTime',
    nullable: true,
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
