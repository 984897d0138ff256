import type { Actor, Answer } from '../actor.ts'
import { type ArchiveOptions, packageArchive } from './archive.ts'

const bytes = { headers: { 'content-type': 'application/octet-stream' } }

/** Publishes an archive and returns the response to the last of the three requests. */
export async function publishArchive(actor: Actor, archive: Buffer): Promise<Answer> {
  return finish(actor, await upload(actor, archive))
}

/** Publishes a generated package or a given archive and returns the archive. Throws if it is rejected. */
export async function publish(actor: Actor, contents: ArchiveOptions | Buffer): Promise<Buffer> {
  const archive = Buffer.isBuffer(contents) ? contents : await packageArchive(contents)
  const answer = await publishArchive(actor, archive)
  if (answer.status !== 200) throw new Error(`Cannot publish: ${JSON.stringify(answer.body)}`)
  return archive
}

/** Starts an upload and returns its id. */
export async function announce(actor: Actor): Promise<string> {
  const { status, body } = await actor.get('/api/packages/versions/new')
  if (status !== 200) throw new Error(`Cannot announce an upload: ${JSON.stringify(body)}`)
  return body.fields.upload_id as string
}

/** Starts an upload, sends the archive and returns the id of the upload. */
export async function upload(actor: Actor, archive: Buffer): Promise<string> {
  const uploadId = await announce(actor)
  const answer = await sendBytes(actor, uploadId, archive)
  if (answer.status !== 302) throw new Error(`Cannot upload: ${JSON.stringify(answer.body)}`)
  return uploadId
}

/** Sends an archive as the request body. */
export const sendBytes = (actor: Actor, uploadId: string, archive: Buffer): Promise<Answer> =>
  actor.post(`/api/packages/versions/upload?upload_id=${uploadId}`, archive, bytes)

/** Sends the last request of publishing. */
export const finish = (actor: Actor, uploadId: string): Promise<Answer> =>
  actor.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)
