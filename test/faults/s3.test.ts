import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { folderForTest, ownersToken, publishTo, secretForTests, type Server, start } from '../support/server-process.ts'

/** Runs `npm run admin -- move-blobs filesystem` next to a running server. */
function moveToFolder({ url }: Server, folder: string, env: Record<string, string>) {
  const settings = { SERVER_URL: url, JWT_SECRET: secretForTests, DATA_DIR: folder, PATH: process.env.PATH, ...env }
  const command = spawn(process.execPath, ['server/platform/launch/snug.mjs', 'admin', 'move-blobs', 'filesystem'], {
    env: settings,
    detached: true,
  })
  return {
    kill: () => process.kill(-(command.pid ?? 0), 'SIGKILL'),
    out: text(command.stdout),
    err: text(command.stderr),
    exit: once(command, 'close'),
  }
}

const isStored = ({ operation, key }: { operation: string; key: string }) => operation === 'GetObject' && key.startsWith('sha256/')

/** Blocks the read of the second archive. Resolves when that read begins. */
function holdSecond(bucket: S3Bucket): Promise<void> {
  const seen = new Set<string>()
  return new Promise((resolve) => {
    bucket.fault = (call) => {
      if (!isStored(call) || seen.add(call.key).size < 2) return null
      resolve()
      return 'silent'
    }
  })
}

it('serves from a bucket, and moves to a folder with a command that is killed and run again', async () => {
  await using bucket = await s3Bucket()
  const folder = folderForTest()
  const wrong = await start(folder, { ...bucket.env, S3_BUCKET: 'no-such-bucket' })
  expect(await wrong.exit).toBe(78)
  expect(wrong.log()).toMatch(/The archive store s3:\/\/no-such-bucket\/ cannot be used: there is no bucket no-such-bucket/)

  const server = await start(folder, bucket.env)
  const authorization = `Bearer ${await ownersToken(server)}`
  const archives = await Promise.all(
    ['1.0.0', '1.1.0'].map((version) => packageArchive({ name: 'acme', version, files: { 'lib/noise.txt': version.repeat(9000) } })),
  )
  for (const archive of archives) await publishTo(server, authorization, archive)
  const download = async ({ url }: Server, version: string) =>
    Buffer.from(await (await fetch(`${url}/api/archives/acme-${version}.tar.gz`, { headers: { authorization } })).arrayBuffer())
  expect((await download(server, '1.0.0')).equals(archives[0] ?? Buffer.alloc(0))).toBe(true)

  const held = holdSecond(bucket)
  const killed = moveToFolder(server, folder, bucket.env)
  await held
  killed.kill()
  await killed.exit
  bucket.fault = () => null
  const again = moveToFolder(server, folder, bucket.env)
  expect(await again.exit).toEqual([0, null])
  expect(await again.out).toMatch(/ has 2 of 2 archives, verified: [12] were copied now/)

  server.process.kill('SIGTERM')
  expect(await server.exit).toBe(0)
  const moved = await start(folder, { SERVER_URL: server.url, BLOB_PATH: join(folder, 'blobs') })
  const port = /LISTEN_PORT=(\d+)/.exec(moved.log())?.[1]
  expect((await download({ ...moved, url: `http://localhost:${port}` }, '1.1.0')).equals(archives[1] ?? Buffer.alloc(0))).toBe(true)
})

it('answers 503 within seconds while the bucket does not respond, and recovers when it does', async () => {
  await using bucket = await s3Bucket()
  const server = await start(folderForTest(), bucket.env)
  const authorization = `Bearer ${await ownersToken(server)}`
  const archiveOf = (version: string) => packageArchive({ name: 'acme', version })
  await publishTo(server, authorization, await archiveOf('1.0.0'))
  const took: Record<string, number> = {}
  const get = async (path: string) => {
    const begunAt = performance.now()
    const response = await fetch(`${server.url}${path}`, { headers: { authorization } })
    took[`${path} ${response.status}`] = Math.round(performance.now() - begunAt)
    return { status: response.status, body: await response.text(), retryAfter: response.headers.get('retry-after') }
  }
  const archive = '/api/archives/acme-1.0.0.tar.gz'

  bucket.fault = () => 'silent'
  const refused = await get(archive)
  expect(refused).toMatchObject({ status: 503, retryAfter: expect.any(String) })
  expect(JSON.parse(refused.body).error.code).toBe('ServiceUnavailable')
  expect((await get('/readyz')).status).toBe(200)
  const begunAt = performance.now()
  await expect(publishTo(server, authorization, await archiveOf('1.1.0'))).rejects.toThrow('ServiceUnavailable')
  took['publish'] = Math.round(performance.now() - begunAt)

  // The bucket stops responding just after it responded.
  for (const [index, stopping] of ['PutObject', 'CopyObject', 'HeadObject'].entries()) {
    bucket.fault = () => null
    await expect.poll(async () => (await get(archive)).status, { timeout: 10_000 }).toBe(200)
    let isSilent = false
    bucket.fault = ({ operation }) => {
      isSilent ||= operation === stopping
      return isSilent ? 'silent' : null
    }
    const since = performance.now()
    await expect(publishTo(server, authorization, await archiveOf(`2.${index}.0`))).rejects.toThrow('ServiceUnavailable')
    took[`publish until ${stopping}`] = Math.round(performance.now() - since)
  }
  // An S3 call may take three attempts of 15 seconds each, but requests must fail sooner.
  expect(Object.entries(took).filter(([, ms]) => ms > 5000)).toEqual([])

  bucket.fault = () => null
  await expect.poll(async () => (await get(archive)).status, { timeout: 10_000 }).toBe(200)
  await publishTo(server, authorization, await archiveOf('1.1.0'))
  expect(JSON.parse((await get('/api/packages/acme')).body).latest.version).toBe('1.1.0')
})
