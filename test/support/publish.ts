import type { Actor, Answer } from '../actor.ts'
import { type ArchiveOptions, packageArchive } from './archive.ts'

const bytes = { headers: { 'content-type': 'application/octet-stream' } }

/** Publishes an archive in three steps; gives the answer of the last one. */
export async function publishArchive(actor: Actor, archive: Buffer): Promise<Answer> {
  return finish(actor, await upload(actor, archive))
}

/** Publishes a package made for the test, or a ready archive; gives the archive, and throws when it is refused. */
export async function publish(actor: Actor, contents: ArchiveOptions | Buffer): Promise<Buffer> {
  const archive = Buffer.isBuffer(contents) ? contents : await packageArchive(contents)
  const answer = await publishArchive(actor, archive)
  if (answer.status !== 200) throw new Error(`Cannot publish: ${JSON.stringify(answer.body)}`)
  return archive
}

/** Announces an upload; gives its id. */
export async function announce(actor: Actor): Promise<string> {
  const { status, body } = await actor.get('/api/packages/versions/new')
  if (status !== 200) throw new Error(`Cannot announce an upload: ${JSON.stringify(body)}`)
  return body.fields.upload_id as string
}

/** Announces an upload and sends the archive; gives its id. */
export async function upload(actor: Actor, archive: Buffer): Promise<string> {
  const uploadId = await announce(actor)
  const answer = await sendBytes(actor, uploadId, archive)
  if (answer.status !== 302) throw new Error(`Cannot upload: ${JSON.stringify(answer.body)}`)
  return uploadId
}

/** Sends the bytes of an upload as the whole body. */
export const sendBytes = (actor: Actor, uploadId: string, archive: Buffer): Promise<Answer> =>
  actor.post(`/api/packages/versions/upload?upload_id=${uploadId}`, archive, bytes)

/** The last step. */
export const finish = (actor: Actor, uploadId: string): Promise<Answer> =>
  actor.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)
