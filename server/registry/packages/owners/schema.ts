import { builder } from '../../../platform/graphql/builder.ts'
import { connectionOf, payload } from '../../../platform/graphql/payload.ts'
import { email } from '../../../accounts/users/input.ts'
import { packageName } from '../parameters.ts'
import { PackageRef, ofPublicPackage } from '../refs.ts'
import { addUploader, removeUploader, setPackagePublisher } from './service.ts'
import { z } from 'zod'
import { viewerCan } from '../../../platform/access/policy.ts'
import { invalidInput } from '../../../errors.ts'
import { loadPublisher } from '../../publishers/list.ts'
import { canChoosePublisher } from '../policy.ts'
import { PublisherRef } from '../../publishers/refs.ts'
import { canSeeUnlistedPackages } from '../../publishers/policy.ts'
import { countListedPackages, countAllPackages, listPublisherPackages } from '../service.ts'

builder.mutationField('addUploader', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('AddUploaderPayload', 'The package after the change.', { package: { type: PackageRef, description: 'The package.' } }),
    description: 'Gives a user write access to a package. Repeating it changes nothing.',
    typeOptions: { description: 'The package and the new uploader.' },
    argOptions: { description: 'The package and the user.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      email: t.input.string({ required: true, description: 'E-mail address of an active account that may publish.', validate: email }),
    },
    resolve: async (_root, { input }, context) => ({ package: await addUploader(context, input) }),
  }),
)

builder.mutationField('removeUploader', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RemoveUploaderPayload', 'The package after the change.', { package: { type: PackageRef, description: 'The package.' } }),
    description: 'Removes an uploader. The last uploader of a package without a publisher cannot be removed.',
    typeOptions: { description: 'The package and the uploader to remove.' },
    argOptions: { description: 'The package and the user.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      email: t.input.string({ required: true, description: 'E-mail address of an uploader.', validate: email }),
    },
    resolve: async (_root, { input }, context) => ({ package: await removeUploader(context, input) }),
  }),
)

builder.objectFields(PackageRef, (t) => ({
  publisher: t.field({
    ...ofPublicPackage,
    type: PublisherRef,
    nullable: true,
    description: 'The publisher that owns the package; null if it has none.',
    resolve: ({ publisher }, _args, context) => (publisher ? loadPublisher(context, publisher.id) : null),
  }),
  viewerCanChoosePublisher: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you can transfer the package to or from publishers that you are a member of.',
    resolve: (pkg, _args, context) => viewerCan(context, canChoosePublisher, pkg),
  }),
}))

builder.mutationField('setPackagePublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('SetPackagePublisherPayload', 'The package after the change.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
    description: 'Transfers a package to a publisher, or removes it from its publisher. Requires an uploader. Uploaders keep their rights.',
    typeOptions: { description: 'The package and its new publisher.' },
    argOptions: { description: 'The package and its new publisher.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      publisher: t.input.string({
        description: 'Identifier of the publisher, or null for none. Must not be omitted.',
        validate: z
          .string()
          .min(1, 'must not be empty; null for no publisher')
          .max(64, 'must be the id of a publisher')
          .regex(/^[^\0]*$/, 'must be the id of a publisher')
          .nullish(),
      }),
    },
    resolve: async (_root, { input }, context) => {
      if (input.publisher === undefined) throw invalidInput('publisher: is required; null for no publisher.', 'publisher')
      return { package: await setPackagePublisher(context, input.package, input.publisher) }
    },
  }),
)

builder.objectFields(PublisherRef, (t) => ({
  packages: t.connection(
    {
      type: PackageRef,
      description: 'Packages of the publisher by name. Unlisted packages are included for members and administrators.',
      resolve: async (publisher, args, context) => {
        const withUnlisted = await viewerCan(context, canSeeUnlistedPackages, publisher)
        return listPublisherPackages(context.em, publisher, withUnlisted, args)
      },
    },
    connectionOf(PackageRef),
  ),
  packageCount: t.int({
    description: 'Number of packages of the publisher that you can see.',
    resolve: async (publisher, _args, context) => {
      const all = await viewerCan(context, canSeeUnlistedPackages, publisher)
      return (await (all ? countAllPackages : countListedPackages)(context, publisher.id)) ?? 0
    },
  }),
}))
