import { builder } from '../../graphql/builder.ts'
import { email } from '../../users/input.ts'
import type { Package } from '../entity.ts'
import { packageName } from '../parameters.ts'
import { PackageRef } from '../refs.ts'
import { addUploader, removeUploader } from './service.ts'

const AddUploaderInput = builder.inputType('AddUploaderInput', {
  description: 'A package, and whom to name as an uploader.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of the package.', validate: packageName }),
    email: t.string({ required: true, description: 'E-mail address of an active account that may publish.', validate: email }),
  }),
})

const AddUploaderPayload = builder.objectRef<{ package: Package }>('AddUploaderPayload').implement({
  description: 'A package with one more uploader.',
  fields: (t) => ({ package: t.expose('package', { type: PackageRef, description: 'The package.' }) }),
})

builder.mutationField('addUploader', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: AddUploaderPayload,
    description: 'Gives somebody write access to a package. Doing it again changes nothing.',
    args: { input: t.arg({ type: AddUploaderInput, required: true, description: 'Which package, and who.' }) },
    resolve: async (_root, { input }, context) => ({ package: await addUploader(context, input) }),
  }),
)

const RemoveUploaderInput = builder.inputType('RemoveUploaderInput', {
  description: 'A package, and whom to take off its uploaders.',
  fields: (t) => ({
    package: t.string({ required: true, description: 'Name of the package.', validate: packageName }),
    email: t.string({ required: true, description: 'E-mail address of an uploader.', validate: email }),
  }),
})

const RemoveUploaderPayload = builder.objectRef<{ package: Package }>('RemoveUploaderPayload').implement({
  description: 'A package with one uploader less.',
  fields: (t) => ({ package: t.expose('package', { type: PackageRef, description: 'The package.' }) }),
})

builder.mutationField('removeUploader', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: RemoveUploaderPayload,
    description: 'Takes write access to a package away. The last uploader of a package without a publisher stays.',
    args: { input: t.arg({ type: RemoveUploaderInput, required: true, description: 'Which package, and who.' }) },
    resolve: async (_root, { input }, context) => ({ package: await removeUploader(context, input) }),
  }),
)
