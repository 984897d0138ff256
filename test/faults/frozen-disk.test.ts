import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { openFilesystemBlobs } from '../../server/platform/blobs/filesystem.ts'
import { packageArchive } from '../support/archive.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { freezableVolume } from '../support/freezable-volume.ts'
import type { PubFailure } from '../support/pub-client.ts'
import { json, ownersAccount } from '../support/server-process.ts'

// Without a limit, these requests would never be answered. The limit is 3.5 seconds on an idle machine.
const maxSeconds = 20

/** Returns the status of a request, or fails if it takes too long. */
async function statusWithin(work: Promise<{ status: number } | string>): Promise<number> {
  const began = performance.now()
  const answer = await work.catch((error: unknown) => error as PubFailure)
  expect((performance.now() - began) / 1000).toBeLessThan(maxSeconds)
  return typeof answer === 'string' ? 200 : answer.status
}

async function frozenRegistry() {
  const { folder, freeze, thaw } = await freezableVolume()
  const registry = await FaultRegistry.open('postgres', { folder })
  const large = await packageArchive({ name: 'large', version: '1.0.0', files: { 'lib/noise.bin': randomBytes(8_000_000) } })
  await registry.client.publish(large)
  const small = await packageArchive({ name: 'small', version: '1.0.0' })
  const publish = () => statusWithin(registry.client.publish(small))
  const read = (path: string) => statusWithin(registry.readOnce(path))
  return { registry, freeze, thaw, publish, read }
}

it('answers 503 for everything that needs a frozen disk, and works again without a restart', async () => {
  const { registry, freeze, thaw, publish, read } = await frozenRegistry()
  for (let round = 0; round < 2; round++) {
    freeze()
    // More requests than threads.
    expect(new Set(await Promise.all(Array.from({ length: 40 }, publish)))).toEqual(new Set([503]))
    expect(await Promise.all([publish(), read('/api/archives/large-1.0.0.tar.gz'), read('/api/v1/health')])).toEqual([503, 503, 503])
    thaw()
    await registry.publish({ name: 'after', version: `1.0.${round}` })
    await expect.poll(() => read('/api/v1/health')).toBe(200)
    expect(await read('/api/archives/large-1.0.0.tar.gz')).toBe(200)
  }
})

it('answers requests that need no disk while it is frozen', async () => {
  const { registry, freeze, publish, read } = await frozenRegistry()
  freeze()
  const failing = Array.from({ length: 40 }, publish)
  for (const path of ['/livez', '/readyz', '/api/packages/large', '/api/search?q=large', '/', '/api/packages/large/versions/1.0.0'])
    expect([path, await read(path)]).toEqual([path, 200])
  expect(await registry.query('{ package(name: "large") { name } }')).toEqual({ package: { name: 'large' } })
  // The listing is compressed in a thread, and the password is hashed in another.
  const { latest } = await registry.client.listing('large')
  expect(latest.version).toBe('1.0.0')
  expect((await json(`${registry.listensAt}/api/auth/login`, ownersAccount)).status).toBe(200)
  await Promise.all(failing)
  expect((await registry.client.listing('large')).latest.version).toBe('1.0.0')
})

it('answers 503 in each step of a publish, and finishes an upload that was received before', async () => {
  const { registry, freeze, thaw } = await frozenRegistry()
  const archives = await Promise.all(
    ['small', 'big'].map((name) =>
      packageArchive({ name, version: '2.0.0', files: { 'lib/noise.bin': randomBytes(name === 'big' ? 3_000_000 : 1000) } }),
    ),
  )
  const { client } = registry
  const start = async () => {
    const { body } = await client.get(`${registry.url}/api/packages/versions/new`)
    return JSON.parse(body.toString()) as { url: string; fields: Record<string, string> }
  }
  const received = await Promise.all(
    archives.map(async (archive) => {
      const { url, fields } = await start()
      return client.upload(url, fields, archive)
    }),
  )
  const started = await Promise.all(archives.map(start))
  freeze()
  const uploads = archives.map((archive, index) => {
    const { url = '', fields = {} } = started[index] ?? {}
    return statusWithin(client.upload(url, fields, archive))
  })
  const finishes = received.map((url) => statusWithin(client.get(url)))
  expect(await Promise.all([statusWithin(client.get(`${registry.url}/api/packages/versions/new`)), ...uploads, ...finishes])).toEqual(
    Array(5).fill(503),
  )
  thaw()
  for (const url of received) await expect.poll(() => statusWithin(client.get(url))).toBe(200)
})

it('ends a download when the disk stops responding, and closes its file once the disk responds', async () => {
  const { folder, freeze, thaw } = await freezableVolume()
  const blobs = await openFilesystemBlobs(join(folder, 'blobs'))
  const { sha256 } = await blobs.stage('one', Readable.from([randomBytes(3_000_000)]), 4_000_000)
  await blobs.promote('one', sha256)
  const opened = () => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd)?.endsWith(sha256)).length
  const streams = await Promise.all(Array.from({ length: 5 }, () => blobs.open(sha256)))
  freeze()
  for (const stream of streams) await expect(buffer(stream)).rejects.toMatchObject({ status: 503 })
  await expect(blobs.open(sha256)).rejects.toMatchObject({ status: 503 })
  await expect(blobs.has(sha256)).rejects.toMatchObject({ status: 503 })
  await expect(blobs.remove(sha256, { at: new Date() })).rejects.toMatchObject({ status: 503 })
  await expect(blobs.check()).rejects.toMatchObject({ status: 503 })
  thaw()
  await expect.poll(opened).toBe(0)
  expect(await buffer(await blobs.open(sha256))).toHaveLength(3_000_000)
})

/** Returns the path of an open file, or null if it was closed in the meantime. */
function linkOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return null
  }
}
