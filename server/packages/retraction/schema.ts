import { builder } from '../../graphql/builder.ts'
import { payload } from '../../graphql/payload.ts'
import { type Context, isSignedIn } from '../../access/context.ts'
import type { PackageVersion } from '../entity.ts'
import { packageName } from '../parameters.ts'
import { canAdminister } from '../policy.ts'
import { ofPublicVersion, PackageVersionRef } from '../refs.ts'
import { isRestorable, isRetractable, restorableUntil, retractableUntil } from './window.ts'
import { updateVersionOptions } from './service.ts'
import { loadPackage } from '../service.ts'

builder.objectFields(PackageVersionRef, (t) => ({
  retractableUntil: t.field({
    ...ofPublicVersion,
    type: 'DateTime',
    nullable: true,
    description: 'Until when it can be retracted; null when it is retracted already, and when this server sets no limit.',
    resolve: (version, _args, { config }) => retractableUntil(version, config),
  }),
  restorableUntil: t.field({
    ...ofPublicVersion,
    type: 'DateTime',
    nullable: true,
    description: 'Until when it can be restored; null when it is not retracted, and when this server sets no limit.',
    resolve: (version, _args, { config }) => restorableUntil(version, config),
  }),
  viewerCanRetract: t.boolean({
    ...ofPublicVersion,
    description: 'Whether you may retract it now.',
    resolve: (version, _args, context) => isRetractable(version, context.config, context.now()) && mayChange(version, context),
  }),
  viewerCanRestore: t.boolean({
    ...ofPublicVersion,
    description: 'Whether you may restore it now.',
    resolve: (version, _args, context) => isRestorable(version, context.config, context.now()) && mayChange(version, context),
  }),
}))

async function mayChange(version: PackageVersion, context: Context): Promise<boolean> {
  if (!isSignedIn(context) || !context.scopes.has('write')) return false
  const pkg = await loadPackage(context, version.package.id)
  return pkg !== null && canAdminister(context.em, context, pkg)
}

builder.mutationField('updateVersionOptions', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('UpdateVersionOptionsPayload', 'A version that was retracted or restored.', {
      version: { type: PackageVersionRef, description: 'The version.' },
    }),
    description:
      'Retracts a version, so that new users are kept from it, or restores it. Both within 7 days, unless this server sets no limit.',
    typeOptions: { description: 'A version, and what it shall be.' },
    argOptions: { description: 'Which version, and what it shall be.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Which version.' }),
      isRetracted: t.input.boolean({ required: true, description: 'True retracts it, false restores it.' }),
    },
    resolve: async (_root, { input }, context) => ({ version: await updateVersionOptions(context, input) }),
  }),
)
