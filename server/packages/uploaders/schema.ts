import { builder } from '../../graphql/builder.ts'
import { payload } from '../../graphql/payload.ts'
import { email } from '../../users/input.ts'
import { packageName } from '../parameters.ts'
import { PackageRef } from '../refs.ts'
import { addUploader, removeUploader } from './service.ts'

builder.mutationField('addUploader', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('AddUploaderPayload', 'A package with one more uploader.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
    description: 'Gives somebody write access to a package. Doing it again changes nothing.',
    typeOptions: { description: 'A package, and whom to name as an uploader.' },
    argOptions: { description: 'Which package, and who.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      email: t.input.string({ required: true, description: 'E-mail address of an active account that may publish.', validate: email }),
    },
    resolve: async (_root, { input }, context) => ({ package: await addUploader(context, input) }),
  }),
)

builder.mutationField('removeUploader', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RemoveUploaderPayload', 'A package with one uploader less.', {
      package: { type: PackageRef, description: 'The package.' },
    }),
    description: 'Takes write access to a package away. The last uploader of a package without a publisher stays.',
    typeOptions: { description: 'A package, and whom to take off its uploaders.' },
    argOptions: { description: 'Which package, and who.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      email: t.input.string({ required: true, description: 'E-mail address of an uploader.', validate: email }),
    },
    resolve: async (_root, { input }, context) => ({ package: await removeUploader(context, input) }),
  }),
)
