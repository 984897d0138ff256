import type { Actor, Answer } from '../actor.ts'
import type { TestApp } from '../app.ts'

/** Started upload. `address` is the path and query of its URL without the key. */
export type StartedUpload = { id: string; key: string; address: string }

export async function startUpload(actor: Actor): Promise<StartedUpload> {
  const { status, body } = await actor.get('/api/packages/versions/new')
  if (status !== 200) throw new Error(`Cannot start an upload: ${JSON.stringify(body)}`)
  const { pathname, searchParams } = new URL(body.url)
  return { id: body.fields.upload_id, key: searchParams.get('upload_key') ?? '', address: `${pathname}?upload_id=${body.fields.upload_id}` }
}

/** Sends an archive as the request body, authenticated by an upload key. */
export const sendWithKey = (actor: Actor, { address, key }: Pick<StartedUpload, 'address' | 'key'>, archive: Buffer): Promise<Answer> =>
  actor.post(`${address}&upload_key=${key}`, archive, { headers: { 'content-type': 'application/octet-stream' } })

/** Finishes an upload, authenticated by an upload key. */
export const finishWithKey = (actor: Actor, { id, key }: Pick<StartedUpload, 'id' | 'key'>): Promise<Answer> =>
  actor.get(`/api/packages/versions/newUploadFinish?upload_id=${id}&upload_key=${key}`)

/** Returns a form with an upload id and an archive, as `dart pub` sends it. */
export function uploadForm(uploadId: string, archive: Buffer): { body: Buffer; headers: Record<string, string> } {
  const head = `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-type: application/octet-stream\r\ncontent-disposition: form-data; name="file"; filename="package.tar.gz"\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(head), archive, Buffer.from('\r\n--x--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  }
}

/** Reports whether a version is published. */
export async function isPublished({ services }: TestApp, name: string, version: string): Promise<boolean> {
  const sql = 'select 1 as found from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?'
  return (await services.database.reads.get(sql, name, version)) !== undefined
}
