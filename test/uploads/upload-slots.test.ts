import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { Upload } from '../../server/registry/uploads/entity.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { PubClient, PubFailure } from '../support/pub-client.ts'
import { announce, finish, sendBytes, upload } from '../support/publish.ts'
import { halfBodies, storedFiles, untilClaimsReleased, untilStored } from '../support/uploads.ts'

const places = 100
const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })
const newUpload = '/api/packages/versions/new'
const unknownId = '01900000-0000-7000-8000-000000000000'

/** Publishes an archive, again while the database is busy: on a busy machine, the last of many publishes waits for locks longer than their limit. */
async function publishPatiently(pub: PubClient, archive: Buffer): Promise<void> {
  try {
    await pub.publish(archive)
  } catch (error) {
    if (!(error instanceof PubFailure) || error.status !== 503) throw error
    await publishPatiently(pub, archive)
  }
}

describe('the upload slots of a user', () => {
  it('never run out by started uploads, because the oldest one without an archive is replaced', async () => {
    await using app = await testApp()
    const [alice, bob] = [await app.member(), await app.member()]
    const [received, first, second] = [await upload(alice, await acme()), await announce(alice), await announce(alice)]
    const others = await announce(bob)
    await Promise.all(Array.from({ length: places - 2 }, () => announce(alice)))
    expect(await sendBytes(alice, first, await acme())).toMatchObject({ status: 404 })
    expect(await sendBytes(alice, second, await acme('1.0.1'))).toMatchObject({ status: 302 })
    expect(await finish(alice, received)).toMatchObject({ status: 200 })
    expect(await sendBytes(bob, others, Buffer.from('x'))).toMatchObject({ status: 302 })
    expect(await countUploads(app, alice)).toBe(places)
  })

  it('are held by recently sent archives and reused when one is not finished within ten seconds', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ alone: true, now: start })
    const alice = await app.member()
    const first = await upload(alice, Buffer.from('rubbish'))
    const second = await upload(alice, Buffer.from('rubbish'))
    for (let sent = 2; sent < places; sent++) await upload(alice, Buffer.from('rubbish'))
    const refused = { status: 429, headers: { 'retry-after': '10' }, body: { error: { code: 'RateLimitExceeded' } } }
    expect(await alice.get(newUpload)).toMatchObject(refused)
    expect(await finish(alice, second)).toMatchObject({ status: 400 })
    const last = await announce(alice)
    expect(await sendBytes(alice, last, Buffer.from('rubbish'))).toMatchObject({ status: 302 })
    app.clock.now = new Date(start.getTime() + 9001)
    expect(await alice.get(newUpload)).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    app.clock.now = new Date(start.getTime() + 10_000)
    const staged = () => readdirSync(join(app.config.BLOB_PATH, 'staging')).length
    const before = staged()
    expect(await alice.get(newUpload)).toMatchObject({ status: 200 })
    expect(staged()).toBe(before - 1)
    expect(await finish(alice, first)).toMatchObject({ status: 404 })
  })

  it('report that the client must publish again when an upload was replaced during its check', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ now: start })
    const alice = await app.member()
    const first = await upload(alice, await acme())
    for (let sent = 1; sent < places; sent++) await upload(alice, Buffer.from('rubbish'))
    app.clock.now = new Date(start.getTime() + 10_000)
    const { blobs } = app.services
    const promote = blobs.promote.bind(blobs)
    vi.spyOn(blobs, 'promote').mockImplementationOnce(async (...input) => {
      expect(await alice.get(newUpload)).toMatchObject({ status: 200 })
      await promote(...input)
    })
    const again = { status: 404, body: { error: { code: 'NotFound', message: expect.stringMatching(/Publish again\.$/) } } }
    expect(await finish(alice, first)).toMatchObject(again)
    expect(await finish(alice, first)).toMatchObject(again)
    expect(await alice.get('/api/packages/acme')).toMatchObject({ status: 404 })
    const next = await upload(alice, await acme())
    expect(await finish(alice, next)).toMatchObject({ status: 200 })
  })

  it('are not used up by HEAD, which requires the same permissions', async () => {
    await using app = await testApp()
    const [alice, viewer] = [await app.member(), await app.viewer()]
    const waiting = await upload(alice, await acme())
    for (const path of [newUpload, `/api/packages/versions/newUploadFinish?upload_id=${waiting}`]) {
      expect(await alice.head(path)).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('pub.v2') } })
      expect(await viewer.head(path)).toMatchObject({ status: 403 })
      expect(await app.anonymous.head(path)).toMatchObject({ status: 401 })
    }
    expect(await countUploads(app, alice)).toBe(1)
    expect(await alice.get('/api/packages/acme')).toMatchObject({ status: 404 })
  })

  it('are all in use until the first claim of a stalled connection expires', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ now: start })
    const alice = await app.member()
    await Promise.all(Array.from({ length: 100 }, () => announce(alice)))
    const until = new Date(start.getTime() + 18_000)
    await app.services.database.fork().nativeUpdate(Upload, {}, { receivingAs: unknownId, receivingUntil: until })
    const announcement = () => alice.get('/api/packages/versions/new')
    expect(await announcement()).toMatchObject({ status: 429, headers: { 'retry-after': '18' } })
    app.clock.now = until
    expect(await announcement()).toMatchObject({ status: 200 })
  })

  it('are freed when the connection breaks or the archive is too large', async () => {
    await using app = await testApp({ alone: true, env: { MAX_UPLOAD_BYTES: '100000' } })
    const alice = await app.member()
    using connections = await halfBodies(app)
    const ids = (await Promise.all(Array.from({ length: places }, () => announce(alice)))).toSorted()
    const sockets = await Promise.all(ids.slice(0, 30).map((id) => connections.send(alice, id)))
    await untilStored(app, 30)
    const oldest = await announce(alice)
    expect(await sendBytes(alice, ids[30] ?? '', Buffer.from('x'))).toMatchObject({ status: 404 })
    for (const socket of sockets) socket.destroy()
    await untilClaimsReleased(app)
    expect(await storedFiles(app)).toHaveLength(0)
    expect(await sendBytes(alice, oldest, Buffer.alloc(100_001))).toMatchObject({ status: 413 })
    await Promise.all(Array.from({ length: places }, () => announce(alice)))
    expect(await sendBytes(alice, ids[0] ?? '', await acme())).toMatchObject({ status: 404 })
    expect(app.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  })

  it('suffice for fifty concurrent publishes with one token', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const archives = await Promise.all(
      Array.from({ length: 50 }, (_, index) => packageArchive({ name: `pkg_${index % 25}`, version: `1.0.${index}` })),
    )
    const published = await Promise.allSettled(archives.map((archive) => publishPatiently(pub, archive)))
    expect(published.filter(({ status }) => status === 'rejected')).toEqual([])
  })
})

async function countUploads(app: TestApp, { id }: Actor): Promise<number> {
  const row = await app.services.database.reads.get<{ count: number | string }>(
    'select count(*) as count from uploads where user_id = ?',
    id,
  )
  return Number(row?.count)
}
