import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { type Actor, statuses } from './actor.ts'
import { type TestApp, testApp } from './app.ts'
import { packageArchive } from './support/archive.ts'
import { PubClient } from './support/pub-client.ts'
import { announce, finish, sendBytes, upload } from './support/publish.ts'

const places = 100
const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })
const newUpload = '/api/packages/versions/new'

describe('the places of a person', () => {
  it('never run out by announcements: the oldest without an archive is replaced', async () => {
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

  it('are kept by archives that were sent a moment ago; one that nobody finishes for ten seconds is replaced', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ now: start })
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

  it('say to publish again when an upload was replaced while its archive was being checked', async () => {
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

  it('are not used up by HEAD, which asks for the same rights', async () => {
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

  it('are free again when the connection breaks or the archive is too large', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000' } })
    const alice = await app.member()
    using connections = await halfBodies(app)
    const ids = (await Promise.all(Array.from({ length: places }, () => announce(alice)))).toSorted()
    const sockets = await Promise.all(ids.slice(0, 30).map((id) => connections.send(alice, id)))
    await until(app, 30)
    const oldest = await announce(alice)
    expect(await sendBytes(alice, ids[30] ?? '', Buffer.from('x'))).toMatchObject({ status: 404 })
    for (const socket of sockets) socket.destroy()
    await untilFree(app)
    expect(await countFiles(app)).toBe(0)
    expect(await sendBytes(alice, oldest, Buffer.alloc(100_001))).toMatchObject({ status: 413 })
    await Promise.all(Array.from({ length: places }, () => announce(alice)))
    expect(await sendBytes(alice, ids[0] ?? '', await acme())).toMatchObject({ status: 404 })
    expect(app.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  })

  it('are enough for fifty publishes at once by one token', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const archives = await Promise.all(
      Array.from({ length: 50 }, (_, index) => packageArchive({ name: `pkg_${index % 25}`, version: `1.0.${index}` })),
    )
    const published = await Promise.allSettled(archives.map((archive) => pub.publish(archive)))
    expect(published.filter(({ status }) => status === 'rejected')).toEqual([])
  }, 60_000)
})

describe('the archive of an upload', () => {
  it.each(['octet-stream', 'form'])('is taken from one connection at a time, as %s', async (kind) => {
    await using app = await testApp()
    await using beside = await anotherInstance(app)
    const alice = await app.member()
    using connections = await halfBodies(app)
    const there = alice.at(beside ?? app)
    const uploadId = await announce(alice)
    const sender = await connections.send(alice, uploadId, kind)
    await until(app, 1)
    const dripping = setInterval(() => sender.write('a'), 20)
    const rivals = await Promise.all(Array.from({ length: 6 }, () => sendBytes(there, uploadId, Buffer.alloc(500_000))))
    expect(statuses(rivals)).toEqual([409, 409, 409, 409, 409, 409])
    expect(await countFiles(app)).toBe(1)
    clearInterval(dripping)
    sender.destroy()
    await untilFree(app)
    expect(await countFiles(app)).toBe(0)
    expect(await sendBytes(there, uploadId, await acme())).toMatchObject({ status: 302 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  })

  it.each(['octet-stream', 'form'])('is taken from the next connection when the first has fallen silent, as %s', async (kind) => {
    await using app = await testApp()
    await using beside = await anotherInstance(app)
    const alice = await app.member()
    const uploadId = await announce(alice)
    using connections = await halfBodies(app)
    const silent = await connections.send(alice, uploadId, kind)
    await until(app, 1)
    const answer = once(silent, 'data')
    expect(await sendBytes(alice.at(beside ?? app), uploadId, await acme())).toMatchObject({ status: 302 })
    expect(String(await answer)).toContain('409 Conflict')
    silent.destroy()
    await until(app, 1)
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  })

  it('is given up when nothing of it comes for half a minute', async () => {
    await using app = await testApp()
    const alice = await app.member()
    using connections = await halfBodies(app)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const silent = await connections.send(alice, await announce(alice))
      await until(app, 1)
      const answer: string[] = []
      silent.on('data', (chunk) => void answer.push(String(chunk)))
      for (let beats = 0; answer.length === 0 && beats < 2000; beats++) {
        vi.advanceTimersByTime(250)
        await sleep(5)
      }
      expect(answer.join('')).toContain('408 Request Timeout')
      expect(await countFiles(app)).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is read and left aside when the upload is finished, as a form and as the whole body', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '1000000' } })
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const uploadId = await upload(alice, await acme())
    const answer = await finish(alice, uploadId)
    const [url, again] = [`${app.config.SERVER_URL}/api/packages/versions/upload`, Buffer.alloc(900_000)]
    const location = await pub.upload(url, { upload_id: uploadId }, again)
    expect(await sendBytes(alice, uploadId, again)).toMatchObject({ status: 302, headers: { location } })
    await expect(pub.upload(url, { upload_id: uploadId }, Buffer.alloc(1_000_001))).rejects.toMatchObject({ status: 413 })
    expect(await sendBytes(alice, uploadId, Buffer.alloc(1_000_001))).toMatchObject({ status: 413 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200, body: answer.body })
  })
})

describe('what a person has staged', () => {
  it('is bounded, while it arrives too, and says when there is room', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ now: start, env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '250000' } })
    const [alice, bob] = [await app.member(), await app.member()]
    const first = await upload(alice, Buffer.alloc(100_000))
    app.clock.now = new Date(start.getTime() + 60_000)
    using connections = await halfBodies(app)
    const arriving = await connections.send(alice, await announce(alice))
    await until(app, 2)
    const third = await announce(alice)
    const refused = { status: 429, headers: { 'retry-after': '540' }, body: { error: { code: 'RateLimitExceeded' } } }
    expect(await sendBytes(alice, third, Buffer.alloc(60_000))).toMatchObject(refused)
    expect(await sendBytes(alice, third, Buffer.alloc(50_000))).toMatchObject({ status: 302 })
    expect(await sendBytes(bob, await announce(bob), Buffer.alloc(100_000))).toMatchObject({ status: 302 })
    arriving.destroy()
    await untilFree(app)
    expect(await countFiles(app)).toBe(3)
    expect(await upload(alice, Buffer.alloc(100_000))).toBeTruthy()
    expect(await sendBytes(alice, await announce(alice), Buffer.alloc(1000))).toMatchObject(refused)
    expect(await finish(alice, first)).toMatchObject({ status: 400 })
    expect(await sendBytes(alice, await announce(alice), Buffer.alloc(100_000))).toMatchObject({ status: 302 })
    app.clock.now = new Date(start.getTime() + 700_000)
    expect(await upload(alice, Buffer.alloc(100_000))).toBeTruthy()
    expect(await countFiles(app)).toBe(2)
  })

  it('counts a body without a length as it comes', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '100000' } })
    const alice = await app.member()
    await upload(alice, Buffer.alloc(60_000))
    using connections = await halfBodies(app)
    const socket = await connections.send(alice, await announce(alice), 'chunked')
    expect(String((await once(socket, 'data'))[0])).toContain('429 Too Many Requests')
    socket.destroy()
    await until(app, 1)
  })

  it('has room again as soon as a refusal is answered', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '100000' } })
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const url = `${app.config.SERVER_URL}/api/packages/versions/upload`
    for (let round = 0; round < 20; round++) {
      const [tooLarge, next] = [await announce(alice), await announce(alice)]
      await expect(pub.upload(url, { upload_id: tooLarge }, Buffer.alloc(100_001))).rejects.toMatchObject({ status: 413 })
      expect(await sendBytes(alice, next, Buffer.alloc(100_000))).toMatchObject({ status: 302 })
      expect(await finish(alice, next)).toMatchObject({ status: 400 })
    }
  })
})

/** Several instances share one PostgreSQL; SQLite serves one process. */
const anotherInstance = (app: TestApp) => (app.config.DB_BACKEND === 'postgres' ? testApp({ beside: app }) : null)

async function countUploads(app: TestApp, { id }: Actor): Promise<number> {
  const row = await app.services.database.reads.get<{ count: number | string }>(
    'select count(*) as count from uploads where user_id = ?',
    id,
  )
  return Number(row?.count)
}

/** Waits until the store has so many files. */
const until = (app: TestApp, files: number) => expect.poll(() => countFiles(app), { timeout: 30_000 }).toBe(files)

/** Waits until no connection has a claim: whoever hung up keeps its place and its space for a moment after its bytes are gone. */
const untilFree = (app: TestApp) => expect.poll(() => countClaims(app), { timeout: 30_000 }).toBe(0)

async function countClaims(app: TestApp): Promise<number> {
  const row = await app.services.database.reads.get<{ count: number | string }>(
    'select count(*) as count from uploads where receiving_as is not null',
  )
  return Number(row?.count)
}

async function countFiles(app: TestApp): Promise<number> {
  const entries = await readdir(app.config.BLOB_PATH, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && /\/(?:staging|sha256)(?:\/|$)/.test(entry.parentPath)).length
}

/** Starts to listen; what it gives sends the first half of a body and stays connected until the test ends, or before. */
async function halfBodies(app: TestApp) {
  const { hostname, port } = new URL(await app.listen())
  const sockets: Socket[] = []
  const send = async (actor: Actor, uploadId: string, kind = 'octet-stream', length = 100_000): Promise<Socket> => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(halfBody(actor, uploadId, kind, length))
    return socket
  }
  return {
    send,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function halfBody(actor: Actor, uploadId: string, kind: string, length: number): string {
  const start = `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`
  const size = kind === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const type = kind === 'form' ? 'multipart/form-data; boundary=x' : 'application/octet-stream'
  const half = 'a'.repeat(length / 2)
  const body = { form: `${start}${half}`, chunked: `${half.length.toString(16)}\r\n${half}\r\n`, 'octet-stream': half }[kind]
  return `POST /api/packages/versions/upload?upload_id=${uploadId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${actor.secret}\r\nContent-Type: ${type}\r\n${size}\r\n\r\n${body}`
}
