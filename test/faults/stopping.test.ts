import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { type S3Bucket, type S3Fault, s3Bucket } from '../support/s3-service.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

/** Blocks reads of stored archives until `release` is called, then applies the fault, if any. `asked` resolves at the first read. */
function holdArchives(bucket: S3Bucket, fault: S3Fault | null) {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  bucket.fault = async ({ operation, key }) => {
    if (operation !== 'GetObject' || !key.startsWith('sha256/')) return null
    asked.resolve()
    if (fault !== 'silent') await released.promise
    return fault
  }
  return { asked: asked.promise, release: released.resolve }
}

/** Begins the upload of an archive. `finish` sends the rest and returns the status of the response, or the error. */
async function beginUpload({ url }: Server, authorization: string, archive: Buffer): Promise<{ finish: () => Promise<number | string> }> {
  const { body } = await json(`${url}/api/packages/versions/new`, undefined, { authorization })
  const stream = new TransformStream<Uint8Array, Uint8Array>()
  const writer = stream.writable.getWriter()
  const answer = fetch(`${body.url}?upload_id=${body.fields.upload_id}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/octet-stream' },
    body: stream.readable,
    redirect: 'manual',
    duplex: 'half',
  } as RequestInit).then(({ status }) => status, String)
  // The second write resolves once the connection has consumed the first one.
  await writer.write(archive.subarray(0, 100))
  await writer.write(archive.subarray(100, 200))
  const sendRest = async () => {
    await writer.write(archive.subarray(200))
    await writer.close()
  }
  return {
    async finish() {
      await sendRest().catch(() => {})
      return answer
    },
  }
}

/** Delay in milliseconds before the upload finishes. An analysis that began in the meantime would have failed by then. */
const slowMs = 4000

it.each([
  ['never answers', 'silent'],
  ['answers after the server began to stop', null],
  ['breaks off after the server began to stop', { cutAfter: 100 }],
  ['stops responding in the middle of the archive', { stopAfter: 100 }],
] as const)('exits with code 0 and completes an upload in progress while an analysis waits for a bucket that %s', async (_what, fault) => {
  await using bucket = await s3Bucket()
  const folder = folderForTest()
  const server = await start(folder, { ...bucket.env, SCORING_ENABLED: 'true' })
  const authorization = `Bearer ${await ownersToken(server)}`
  const { asked, release } = holdArchives(bucket, fault)
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  await asked
  const upload = await beginUpload(server, authorization, await packageArchive({ name: 'acme', version: '1.1.0' }))
  server.process.kill('SIGTERM')
  await expect.poll(() => fetch(`${server.url}/livez`).catch(() => null)).toBeNull()
  release()
  // The job folder is removed once the analysis is aborted.
  await expect.poll(() => readdirSync(join(folder, 'jobs')).filter((name) => !name.endsWith('.lock'))).toEqual([])
  await Promise.race([server.exit, sleep(slowMs)])
  expect(await upload.finish()).toBe(302)
  expect([await server.exit, server.log()]).toEqual([0, expect.not.stringContaining('Error: ')])
})
