import { z } from 'zod'
import { builder } from '../../../platform/graphql/builder.ts'
import { payload } from '../../../platform/graphql/payload.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import { invalidInput } from '../../../errors.ts'
import { packageName } from '../parameters.ts'
import { ofPublicPackage, PackageRef } from '../refs.ts'
import { loadPublisher } from '../../publishers/list.ts'
import { canChoosePublisher } from '../policy.ts'
import { setPackagePublisher } from './service.ts'
import { PublisherRef } from '../../publishers/refs.ts'

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
