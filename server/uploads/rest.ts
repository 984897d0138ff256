import { type Data, route } from '../rest/route.ts'
import { uploadBinaries } from './binary.ts'

/** Publishing, as the package client does it (pub's protocol, "Publish"). */
export const uploadRoutes = [
  route('GET /api/packages/versions/new', 'mutation { createUpload { url fields { name value } } }', {
    summary: 'Starts an upload: where to send the archive, and with which form fields.',
    pub: true,
    changesWith: 'write',
    answer: {
      from: ({ createUpload }) => {
        const { url, fields } = createUpload as { url: string; fields: { name: string; value: string }[] }
        return { url, fields: Object.fromEntries(fields.map(({ name, value }) => [name, value])) }
      },
    },
  }),
  ...uploadBinaries,
  route(
    'GET /api/packages/versions/newUploadFinish',
    'mutation ($upload_id: ID!) { finalizeUpload(input: { uploadId: $upload_id }) { message } }',
    {
      summary: 'Checks the uploaded archive and publishes it. Repeating it gives the same answer.',
      pub: true,
      changesWith: 'write',
      answer: { from: ({ finalizeUpload }) => ({ success: { message: (finalizeUpload as Data).message } }) },
    },
  ),
]
