import { builder } from '../../platform/graphql/builder.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { PackageVersionRef } from '../packages/refs.ts'
import { findVersionByArchive } from '../packages/service.ts'
import { uploadKey, uploadUrl } from './key.ts'
import { type FinishedUpload, finalizeUpload } from './finalize.ts'
import { type NewUpload, createUpload } from './service.ts'

const UploadField = builder.objectRef<{ name: string; value: string }>('UploadField').implement({
  description: 'A form field to send with the archive.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Field name.' }),
    value: t.exposeString('value', { description: 'Field value.' }),
  }),
})

const CreateUploadPayload = builder.objectRef<NewUpload & { key: string }>('CreateUploadPayload').implement({
  description: 'How to send the archive: as a multipart form with these fields followed by the archive as `file`, within ten minutes.',
  fields: (t) => ({
    uploadId: t.exposeID('id', { description: 'Id of the upload, for `finalizeUpload`.' }),
    url: t.field({
      type: 'URL',
      description:
        'URL for sending the form. Contains a key that authorizes this upload without a token for ten minutes, while the credential that started it is valid.',
      extensions: { secret: true },
      resolve: ({ id, key }, _args, { request, config }) => uploadUrl(publicUrl(request, config.SERVER_URL), id, key),
    }),
    fields: t.field({
      extensions: { size: 5 },
      type: [UploadField],
      description: 'Form fields that precede the file.',
      resolve: ({ id }) => [{ name: 'upload_id', value: id }],
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the upload expires.' }),
  }),
})

builder.mutationField('createUpload', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: CreateUploadPayload,
    description: 'Starts an upload. A user can have 100 uploads in progress. A further upload replaces the oldest one without an archive.',
    resolve: async (_root, _args, context) => {
      const upload = await createUpload(context)
      return { ...upload, key: uploadKey(context.keys, upload.id, context.credential) }
    },
  }),
)

const FinalizeUploadPayload = builder.objectRef<FinishedUpload>('FinalizeUploadPayload').implement({
  description: 'A finished upload, and the version that it published.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'Human-readable result message.' }),
    version: t.field({
      type: PackageVersionRef,
      nullable: true,
      description: 'The published version, or null if it has been deleted since.',
      resolve: ({ sha256 }, _args, { em }) => findVersionByArchive(em, sha256),
    }),
  }),
})

builder.mutationField('finalizeUpload', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: FinalizeUploadPayload,
    description: 'Validates an uploaded archive and publishes it. Idempotent.',
    typeOptions: { description: 'The upload to finish.' },
    argOptions: { description: 'The upload to finish.' },
    input: { uploadId: t.input.id({ required: true, description: 'Id of the upload, from `createUpload`.' }) },
    resolve: (_root, { input }, context) => finalizeUpload(context, input.uploadId),
  }),
)
