import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { archivePath, listingPath } from '../support/mirror.ts'
import { bucketInThread, type ThreadBucket } from '../support/s3-thread.ts'
import { ownersToken, type Server } from '../support/server-process.ts'
import { Pair } from '../support/two-instances.ts'
import { pauseAfter } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const command = [process.execPath, 'server/platform/launch/snug.mjs', 'start']
const path = archivePath('colors', '1.0.0')

/** Starts two instances on PostgreSQL and S3 that mirror a package with an archive of 5 MB. */
async function startPair() {
  const bucket = await bucketInThread()
  const upstream = await Upstream.start()
  const version = upstream.publish('colors', '1.0.0', { files: { 'lib/noise.bin': randomBytes(5_000_000) } })
  const pair = await Pair.open({ env: { ...bucket.env, S3_PUBLIC_REDIRECTS: 'false', UPSTREAM_URL: upstream.url } })
  const headers = { authorization: `Bearer ${await ownersToken(await pair.start(0, command))}` }
  await pair.start(1, command)
  const [first, second] = pair.servers as [Server, Server]
  const read = (server: Server, asked: string) => fetchAsClient(`${server.url}/mirror${asked}`, headers)
  return { bucket, upstream, pair, first, second, read, archive: await version.archive(), sha256: await version.sha256() }
}

/** Tries up to seven times with back-off, as the package client does. On a busy machine, the bucket is too slow for 50 readers at once. */
async function fetchAsClient(url: string, headers: Record<string, string>): Promise<Response> {
  for (let backOffMs = 500, tries = 1; ; tries++, backOffMs *= 1.5) {
    const response = await fetch(url, { headers })
    if (response.status < 500 || tries === 7) return response
    await response.body?.cancel()
    await sleep(backOffMs * (0.5 + Math.random()))
  }
}

const isStored = async (bucket: ThreadBucket, sha256: string) =>
  (await bucket.keys()).some((key) => key.startsWith('mirror/sha256/') && key.endsWith(sha256))

it('fetches a listing and an archive of 5 MB once for 50 clients of two instances', async () => {
  const { bucket, upstream, first, second, read, archive, sha256 } = await startPair()
  for (const asked of [listingPath('colors'), path]) {
    const { arrived, release } = upstream.hold(asked)
    const answers = Array.from({ length: 50 }, async (_, index) => {
      const response = await read(index % 2 === 0 ? first : second, asked)
      return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
    })
    await arrived
    release()
    const received = await Promise.all(answers)
    expect(received.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body.toString()}`)).toEqual([])
    if (asked === path) expect(received.every(({ body }) => body.equals(archive))).toBe(true)
    expect(upstream.count(asked)).toBe(1)
  }
  expect(await isStored(bucket, sha256)).toBe(true)
})

it('stores nothing of an archive if the server is killed while it fetches it, and fetches it again for the next client', async () => {
  const { bucket, upstream, pair, first, second, read, archive, sha256 } = await startPair()
  const { fault, started } = pauseAfter(2_000_000)
  upstream.fail(path, fault)
  const broken = read(first, path).then((response) => response.arrayBuffer())
  await started
  first.process.kill('SIGKILL')
  await expect(broken).rejects.toThrow()
  await first.exit
  expect(await isStored(bucket, sha256)).toBe(false)

  upstream.heal(path)
  const restarted = await pair.start(0, command)
  const answers = await Promise.all([read(second, path), read(restarted, path)])
  for (const answer of answers) {
    expect(answer.status).toBe(200)
    expect(Buffer.from(await answer.arrayBuffer()).equals(archive)).toBe(true)
  }
  expect(await isStored(bucket, sha256)).toBe(true)
  expect(upstream.count(path)).toBe(2)
})
