import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { storedAt } from '../../server/platform/blobs/store.ts'
import { packageArchive } from '../support/archive.ts'
import { startCaddy } from '../support/caddy.ts'
import { Load } from '../support/load.ts'
import { startNginx } from '../support/nginx.ts'
import { Pair } from '../support/two-instances.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { ownersToken, publishTo, type Server } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

// Runs the proxy configurations of server/platform/deploy in front of two instances,
// with partial failures that must not become an outage.
const command = [process.execPath, join(root, 'server/platform/launch/snug.mjs'), 'start']
const proxies = {
  nginx: (instances: string[]) => startNginx({ instances }),
  caddy: async (instances: string[]) => (await startCaddy({ instances })).port,
}
const names = ['nginx', 'caddy'] as const

/** Starts two instances on one bucket, with a package that stays intact and one whose archive will be deleted. */
async function startPair(name: (typeof names)[number], bucket: S3Bucket) {
  const env = { ...bucket.env, S3_TIMEOUT_MS: '1000', S3_PUBLIC_REDIRECTS: 'false', DRAIN_DELAY_MS: '3000', SIGN_IN_LIMIT: '1000' }
  const pair = await Pair.open({ env, front: proxies[name] })
  const token = await ownersToken(await pair.start(0, command))
  await pair.start(1, command)
  const authorization = `Bearer ${token}`
  // The archive is too large for the cache of small archives.
  const archiveOf = (of: string) => packageArchive({ name: of, version: '1.0.0', files: { 'lib/noise.bin': randomBytes(400_000) } })
  const lost = await archiveOf('lost')
  for (const archive of [await archiveOf('whole'), lost])
    await publishTo({ ...(pair.servers[0] as Pair['servers'][number]), url: pair.address }, authorization, archive)
  const lostKey = `sha256/${storedAt(createHash('sha256').update(lost).digest('hex'))}`
  const get = async (path: string, body?: object) => {
    const post = body && { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(`${pair.address}${path}`, { ...post, headers: { authorization, 'content-type': 'application/json' } })
    return { path, status: answer.status, text: await answer.text(), server: answer.headers.get('server') }
  }
  return { pair, token, lostKey, get }
}

type Get = Awaited<ReturnType<typeof startPair>>['get']
const archiveOf = (name: string) => `/api/archives/${name}-1.0.0.tar.gz`

/** Sends requests that need no archive over three connections until `ended` settles. Returns their number and the failed ones. */
async function readUntil(get: Get, ended: Promise<unknown>, more: string[] = []) {
  const paths = ['/api/packages/whole', '/api/packages/lost', '/api/v1/version', '/', '/api/auth/me', ...more]
  const result = { total: 0, failures: [] as string[] }
  const state = { isOver: false }
  void ended.finally(() => (state.isOver = true))
  const search = { query: '{ searchPackages(query: "whole", first: 1) { totalCount } }' }
  let rounds = 0
  const read = async () => {
    while (!state.isOver && result.total < 20_000) {
      // An account may send 600 queries per minute: even all 20,000 requests within one minute contain fewer.
      const query = rounds++ % 8 === 0 ? [get('/graphql', search)] : []
      for (const answer of [...paths.map((path) => get(path)), ...query]) {
        const { path, status } = await answer
        result.total++
        if (status !== 200) result.failures.push(`${path} ${status}`)
      }
    }
  }
  await Promise.all([read(), read(), read()])
  await ended
  return result
}

/** Number of requests to /readyz of an instance. Caddy probes it each second and routes requests by the results; nginx has no active probes. */
const probesOf = ({ log }: Server): number => log().match(/ GET \/readyz /g)?.length ?? 0

/** Waits until Caddy has probed an instance several times. */
async function untilProbed(server: Server, times: number): Promise<void> {
  const before = probesOf(server)
  await expect.poll(() => probesOf(server) - before, { timeout: 30_000 }).toBeGreaterThanOrEqual(times)
}

/** Requests an archive a number of times concurrently, and expects the registry's own 503 every time, not one of the proxy. */
async function expectUnavailable(get: Get, path: string, times: number): Promise<void> {
  for (const { status, text } of await Promise.all(Array.from({ length: times }, () => get(path)))) {
    expect([status, text]).toEqual([503, expect.stringMatching(/"code":"(?:ServiceUnavailable|InternalError)"/)])
  }
}

it.each(names)('serves all other requests behind %s while an archive is missing or S3 does not respond', async (name) => {
  await using bucket = await s3Bucket()
  const { pair, lostKey, get } = await startPair(name, bucket)
  await fetch(`${bucket.env.S3_ENDPOINT}/${bucket.env.S3_BUCKET}/${lostKey}`, { method: 'DELETE' })
  expect(await bucket.keys()).not.toContain(lostKey)
  const missing = async () => {
    for (let round = 0; round < 10; round++) await expectUnavailable(get, archiveOf('lost'), 3)
  }
  const whileMissing = await readUntil(get, missing(), [archiveOf('whole')])
  expect(whileMissing.failures).toEqual([])

  bucket.fault = () => 'silent'
  const away = async () => {
    await expectUnavailable(get, archiveOf('whole'), 6)
    if (name === 'caddy') await Promise.all(pair.servers.map((server) => untilProbed(server, 5)))
    await expectUnavailable(get, archiveOf('whole'), 6)
  }
  const whileAway = await readUntil(get, away())
  expect(whileAway.failures).toEqual([])
  bucket.fault = () => null
  await expect.poll(async () => (await get(archiveOf('whole'))).status).toBe(200)
  console.info(
    `${name}: ${whileMissing.total} other requests while an archive was missing and ${whileAway.total} while S3 was away, 0 failed`,
  )
})

it.each(names)('loses no request behind %s while two instances are replaced one after the other', async (name) => {
  await using bucket = await s3Bucket()
  const { pair, token } = await startPair(name, bucket)
  const load = new Load(pair.address, token)
  await load.more(5)
  for (const index of [0, 1]) {
    const replaced = await pair.replace(index, command)
    // Until Caddy knows that this instance is ready, it answers 503 to all but GET requests as soon as the other one is not.
    if (name === 'caddy') await untilProbed(replaced, 2)
    await load.more(5)
  }
  await load.end()
  expect(load).toMatchObject({ failures: [], counts: { resets: 0 } })
})
