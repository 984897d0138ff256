import { builder } from '../../../platform/graphql/builder.ts'
import { payload } from '../../../platform/graphql/payload.ts'
import { email } from '../../../accounts/users/input.ts'
import { packageName } from '../parameters.ts'
import { PackageRef } from '../refs.ts'
import { addUploader, removeUploader } from './service.ts'

builder.mutationField('addUploader', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('AddUploaderPayload', 'The package after the change.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
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
    type: payload('RemoveUploaderPayload', 'The package after the change.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
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
