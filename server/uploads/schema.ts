import { builder } from '../graphql/builder.ts'
import { publicUrl } from '../http/public-url.ts'
import { PackageVersionRef } from '../packages/refs.ts'
import { findVersionByArchive } from '../packages/service.ts'
import { uploadUrl } from './addresses.ts'
import { uploadKey } from './key.ts'
import { type FinishedUpload, finalizeUpload } from './finalize.ts'
import { type Announcement, createUpload } from './service.ts'

const UploadField = builder.objectRef<{ name: string; value: string }>('UploadField').implement({
  description: 'A field of the form that carries the archive.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

const CreateUploadPayload = builder.objectRef<Announcement & { key: string }>('CreateUploadPayload').implement({
  description: 'Where to send an archive: a multipart form with these fields and then the archive as `file`, within ten minutes.',
  fields: (t) => ({
    uploadId: t.exposeID('id', { description: 'Identifies the upload to `finalizeUpload`.' }),
    url: t.field({
      type: 'URL',
      description:
        'Where to send the form. A key in it authorizes this upload without a token for ten minutes, while the credential that began it works.',
      extensions: { secret: true },
      resolve: ({ id, key }, _args, { request, config }) => uploadUrl(publicUrl(request, config.SERVER_URL), id, key),
    }),
    fields: t.field({
      extensions: { size: 5 },
      type: [UploadField],
      description: 'The fields that go before the file.',
      resolve: ({ id }) => [{ name: 'upload_id', value: id }],
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the upload expires.' }),
  }),
})

builder.mutationField('createUpload', (t) =>
  t.withAuth({ scope: 'write' }).field({
    type: CreateUploadPayload,
    description: 'Starts an upload. A person can have 100 uploads in progress; a new one then replaces the oldest that has no archive yet.',
    resolve: async (_root, _args, context) => {
      const upload = await createUpload(context)
      return { ...upload, key: uploadKey(context.keys, upload.id, context.credential) }
    },
  }),
)

const FinalizeUploadPayload = builder.objectRef<FinishedUpload>('FinalizeUploadPayload').implement({
  description: 'A finished upload, and the version that it published.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'What was done, as a message for people.' }),
    version: t.field({
      type: PackageVersionRef,
      nullable: true,
      description: 'The version; null if it has been deleted since.',
      resolve: ({ sha256 }, _args, { em }) => findVersionByArchive(em, sha256),
    }),
  }),
})

builder.mutationField('finalizeUpload', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: FinalizeUploadPayload,
    description: 'Checks an uploaded archive and publishes it. Repeating it gives the same answer.',
    typeOptions: { description: 'The upload to finish.' },
    argOptions: { description: 'Which upload.' },
    input: { uploadId: t.input.id({ required: true, description: 'Its id, from `createUpload`.' }) },
    resolve: (_root, { input }, context) => finalizeUpload(context, input.uploadId),
  }),
)
