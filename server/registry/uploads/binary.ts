import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { guardChange } from '../../platform/access/context.ts'
import { archiveTooLarge, invalidInput } from '../../errors.ts'
import { requireScope } from '../../platform/access/guards.ts'
import { bodyFault } from '../../platform/http/bodies.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { binary } from '../../platform/rest/route.ts'
import { finishUrl, identifyByUploadKey } from './key.ts'
import { receiveUpload } from './receive.ts'

export const uploadBinaries = [
  binary('POST /api/packages/versions/upload', {
    access: 'write',
    pub: true,
    xmlErrors: true,
    summary: 'Receives the archive of an upload, as a form with `upload_id` followed by `file`, or as the request body.',
    handler: receive,
    consumes: ['multipart/form-data', 'application/octet-stream'],
    query: { upload_id: 'Id of the upload. Required when the archive is the request body or an upload key is used.' },
    errorStatuses: [404, 429],
    identifyByKey: identifyByUploadKey,
    produces: { 302: { description: '`Location` is the URL for finishing the upload.' } },
  }),
]

async function receive(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  try {
    const actor = requireScope(context, 'write')
    guardChange(context)
    const uploadId = request.isMultipart() ? await receiveForm(actor) : await receiveBody(actor)
    const { upload_key: key } = request.query as Record<string, unknown>
    const usedKey = actor.credential.uploadId === undefined ? null : String(key)
    return await reply.redirect(finishUrl(publicUrl(request, config.SERVER_URL), uploadId, usedKey), 302)
  } catch (error) {
    throw bodyFault(request, error)
  }
}

async function receiveBody(actor: SignedInContext): Promise<string> {
  const { request, config } = actor
  rejectAnnouncedSize(actor, config.MAX_UPLOAD_BYTES)
  const { upload_id: uploadId } = request.query as Record<string, unknown>
  if (typeof uploadId !== 'string')
    throw invalidInput('upload_id: is required in the query when the archive is the request body.', 'upload_id')
  await receiveUpload(actor, uploadId, request.raw, announcedSize(actor))
  return uploadId
}

/** Receives the multipart form of the pub client: fields first, then the file (pub's protocol, "Publish"). */
async function receiveForm(actor: SignedInContext): Promise<string> {
  rejectAnnouncedSize(actor, actor.config.MAX_UPLOAD_BYTES + formOverhead)
  let uploadId: string | undefined
  let received = false
  for await (const part of actor.request.parts({ limits: formLimits })) {
    if (part.type === 'field' && part.fieldname === 'upload_id') uploadId = String(part.value)
    if (part.type !== 'file') continue
    if (uploadId === undefined) throw invalidInput('upload_id: is required before the file.', 'upload_id')
    await receiveUpload(actor, uploadId, part.file, announcedSize(actor))
    received = true
  }
  if (uploadId === undefined || !received) throw invalidInput('Send a form with the field upload_id and then the field file.', 'file')
  return uploadId
}

const formOverhead = 64 * 1024
const formLimits = { fileSize: Infinity, files: 1, fields: 20, fieldSize: 1024, parts: 21 }

/** Rejects the request (413) before reading the body when its announced size exceeds the limit. */
function rejectAnnouncedSize(actor: SignedInContext, limit: number): void {
  if ((announcedSize(actor) ?? 0) > limit) throw archiveTooLarge(actor.config.MAX_UPLOAD_BYTES)
}

/** Returns the body's announced length in bytes, or null. */
const announcedSize = ({ request: { headers } }: SignedInContext): number | null =>
  headers['content-length'] === undefined ? null : Number(headers['content-length'])
