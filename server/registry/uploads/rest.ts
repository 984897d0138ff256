import { z } from 'zod'
import { route } from '../../platform/rest/route.ts'
import { uploadBinaries } from './binary.ts'
import { identifyByUploadKey } from './key.ts'

const byName = (fields: unknown) =>
  Object.fromEntries((fields as { name: string; value: string }[]).map(({ name, value }) => [name, value]))

/** The publishing endpoints of the pub client (pub's protocol, "Publish"). */
export const uploadRoutes = [
  route('GET /api/packages/versions/new', 'mutation { createUpload { url fields { name value } } }', {
    summary:
      'Starts an upload. Returns the URL and the form fields for sending the archive. The URL contains a key that is valid for ten minutes.',
    pub: true,
    changesWith: 'write',
    answer: 'createUpload',
    errorStatuses: [429],
    changes: { 'createUpload.fields': { from: byName, schema: z.record(z.string(), z.string()) } },
  }),
  ...uploadBinaries,
  route(
    'GET /api/packages/versions/newUploadFinish',
    'mutation ($upload_id: ID!) { finalizeUpload(input: { uploadId: $upload_id }) { message } }',
    {
      summary: 'Validates the uploaded archive and publishes it. Idempotent.',
      pub: true,
      changesWith: 'write',
      errorStatuses: [404],
      answer: {
        from: ({ finalizeUpload }) => ({ success: finalizeUpload }),
        schema: z.object({ success: z.object({ message: z.string() }) }),
      },
      identifyByKey: identifyByUploadKey,
    },
  ),
]
