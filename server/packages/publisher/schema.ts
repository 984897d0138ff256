import { z } from 'zod'
import { builder } from '../../graphql/builder.ts'
import { payload } from '../../graphql/payload.ts'
import { viewerCan } from '../../access/viewer-can.ts'
import { invalidInput } from '../../errors.ts'
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
    description: 'The publisher that owns it; null when its uploaders alone do.',
    resolve: ({ publisher }, _args, context) => (publisher ? loadPublisher(context, publisher.id) : null),
  }),
  viewerCanChoosePublisher: t.boolean({
    ...ofPublicPackage,
    description: 'Whether you may give it to a publisher that you are a member of, and take it away from one.',
    resolve: (pkg, _args, context) => viewerCan(context, canChoosePublisher, pkg),
  }),
}))

builder.mutationField('setPackagePublisher', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('SetPackagePublisherPayload', 'A package after its publisher was chosen.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
    description: 'Gives a package to a publisher, or to none, for its uploaders. They keep their rights.',
    typeOptions: { description: 'Which package gets which publisher.' },
    argOptions: { description: 'Which package, and which publisher.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      publisher: t.input.string({
        description: 'Plain identifier of the publisher; null for none. It must be given.',
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
