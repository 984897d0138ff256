import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../server/uploads/collect.ts'
import { Upload } from '../server/uploads/entity.ts'
import { type TestApp, testApp } from './app.ts'
import { packageArchive } from './support/archive.ts'
import { announce, finish, publish, sendBytes, upload } from './support/publish.ts'

const minute = 60_000
const unknownId = '01900000-0000-7000-8000-000000000000'
/** A field or a file of a form with the boundary `x`. */
const part = (name: string, value: string, filename = '') =>
  `--x\r\ncontent-disposition: form-data; name="${name}"${filename && `; filename="${filename}"`}\r\n\r\n${value}\r\n`
const headers = { 'content-type': 'multipart/form-data; boundary=x' }
const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })

describe('an upload', () => {
  it('belongs to whoever announced it', async () => {
    await using app = await testApp()
    const [alice, admin] = [await app.member(), await app.admin()]
    const uploadId = await announce(alice)
    for (const id of [uploadId, unknownId, 'no-uuid', '']) {
      expect(await sendBytes(admin, id, await acme())).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
      expect(await finish(admin, id)).toMatchObject({ status: id ? 404 : 400 })
    }
    expect(await files(app)).toEqual([])
    expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  })

  it('beyond the hundredth is refused until the first claim of a silent connection lapses', async () => {
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

  it('expires after ten minutes', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ now: start })
    const alice = await app.member()
    const uploadId = await announce(alice)
    app.clock.now = new Date(start.getTime() + 10 * minute)
    expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 404 })
    expect(await alice.get('/api/packages/versions/new')).toMatchObject({ status: 200 })
  })

  it('is free again once it is finished or refused', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) await publish(alice, { name: 'acme', version })
    for (let count = 0; count < 4; count++)
      expect(await finish(alice, await upload(alice, Buffer.from('rubbish')))).toMatchObject({ status: 400 })
  })

  it('can be sent again, and finished again', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const uploadId = await upload(alice, Buffer.from('broken'))
    expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({
      status: 302,
      headers: { location: `http://localhost:8080/api/packages/versions/newUploadFinish?upload_id=${uploadId}` },
    })
    const answer = await finish(alice, uploadId)
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8' } })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200, body: answer.body })
    expect(await sendBytes(alice, uploadId, Buffer.from('other'))).toMatchObject({ status: 302 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200, body: answer.body })
    expect(await files(app)).toHaveLength(1)
  })

  it('cannot be finished without bytes', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const uploadId = await announce(alice)
    expect(await finish(alice, uploadId)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    expect(await alice.get('/api/packages/versions/newUploadFinish')).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('upload_id') } },
    })
    expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
  })

  it('without a byte in it is refused as an empty file', async () => {
    await using app = await testApp()
    const alice = await app.member()
    expect(await finish(alice, await upload(alice, Buffer.alloc(0)))).toMatchObject({
      status: 400,
      body: { error: { code: 'PackageRejected', message: 'The uploaded file is empty. Upload a .tar.gz archive.' } },
    })
  })

  it('leaves no file and no row behind when it is refused', async () => {
    await using app = await testApp()
    const [alice, bob] = [await app.member(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const refusals = [
      { actor: alice, archive: Buffer.from('rubbish'), status: 400 },
      { actor: alice, archive: Buffer.alloc(0), status: 400 },
      { actor: alice, archive: await packageArchive({ name: 'acme', version: '1.0.0', files: { 'README.md': 'other' } }), status: 409 },
      { actor: bob, archive: await acme('2.0.0'), status: 403 },
    ]
    for (const { actor, archive, status } of refusals) {
      const uploadId = await upload(actor, archive)
      expect(await finish(actor, uploadId)).toMatchObject({ status })
      expect(await finish(actor, uploadId)).toMatchObject({ status: 404 })
    }
    expect(await files(app)).toHaveLength(1)
  })

  it('works by session with the CSRF token only, and not while a new password is due', async () => {
    await using app = await testApp()
    const alice = await (await app.member()).session()
    const uploadId = await upload(alice, await acme())
    const bare = { headers: { 'x-csrf-token': '' } }
    expect(
      await alice.post(`/api/packages/versions/upload?upload_id=${uploadId}`, await acme(), {
        headers: { ...bare.headers, 'content-type': 'application/octet-stream' },
      }),
    ).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
    expect(await alice.get('/api/packages/versions/new', bare)).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
    const bob = await (await app.member({ mustChangePassword: true })).session()
    expect(await sendBytes(bob, uploadId, await acme())).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining('password') } },
    })
    expect(await bob.get('/api/packages/acme')).toMatchObject({ status: 403 })
  })
})

describe('the form', () => {
  it.each([
    ['complete', `${part('upload_id', 'ID')}${part('file', 'bytes', 'package.tar.gz')}--x--\r\n`, { status: 302, files: 1 }],
    [
      'with the file first',
      `${part('file', 'bytes', 'package.tar.gz')}${part('upload_id', 'ID')}--x--\r\n`,
      { status: 400, code: 'InvalidInput', files: 0 },
    ],
    ['without a file', `${part('upload_id', 'ID')}--x--\r\n`, { status: 400, code: 'InvalidInput', files: 0 }],
    [
      'cut short in the file',
      `${part('upload_id', 'ID')}${part('file', 'byt', 'package.tar.gz')}`,
      { status: 400, code: 'InvalidInput', files: 0 },
    ],
    ['cut short in a header', `${part('upload_id', 'ID')}--x\r\ncontent-dis`, { status: 400, code: 'InvalidInput', files: 0 }],
    ['that is none', 'hello', { status: 400, code: 'InvalidInput', files: 0 }],
    ['that is empty', '', { status: 400, code: 'InvalidInput', files: 0 }],
  ])('%s', async (_what, body, expected) => {
    expect(await sendForm(body)).toMatchObject(expected)
  })

  it('without a boundary, or of another type, is refused', async () => {
    expect(await sendForm('x', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400, code: 'InvalidInput' })
    expect(await sendForm('{}', { 'content-type': 'application/json' })).toMatchObject({ status: 415, code: 'InvalidInput' })
  })
})

describe('the limit', () => {
  it.each(['application/octet-stream', 'multipart/form-data; boundary=x'])(
    'answers 413 at once to %s and reads no further',
    async (type) => {
      await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000' } })
      const alice = await app.member()
      const uploadId = await announce(alice)
      const { status, body, sent } = await sendForever(await app.listen(), alice.secret ?? '', uploadId, type)
      expect({ status, body }).toMatchObject({ status: 413, body: { error: { code: 'PackageRejected' } } })
      expect(sent).toBeLessThan(8 * 1024 ** 2)
      expect(await files(app)).toEqual([])
      expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
    },
  )

  it('counts the archive, not the form, and takes exactly as much', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '1000' } })
    const alice = await app.member()
    for (const [bytes, status] of [
      [1000, 302],
      [1001, 413],
    ] as const) {
      const uploadId = await announce(alice)
      expect(
        await alice.post(
          '/api/packages/versions/upload',
          `${part('upload_id', uploadId)}${part('file', 'a'.repeat(bytes), 'p')}--x--\r\n`,
          { headers },
        ),
      ).toMatchObject({ status })
      expect(await sendBytes(alice, uploadId, Buffer.alloc(bytes))).toMatchObject({ status })
    }
  })
})

it('leaves nothing of an upload whose connection breaks', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const uploadId = await announce(alice)
  const { port } = new URL(await app.listen())
  for (const type of ['application/octet-stream', 'multipart/form-data; boundary=x']) {
    const socket = connect(Number(port), '127.0.0.1')
    const start = type.startsWith('multi')
      ? `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`
      : ''
    socket.write(
      `POST /api/packages/versions/upload?upload_id=${uploadId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.secret}\r\nContent-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n${start}${'a'.repeat(50_000)}`,
    )
    await expect.poll(() => files(app)).toHaveLength(1)
    socket.destroy()
    await expect.poll(() => files(app)).toEqual([])
  }
  await sleep(20)
  expect(app.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
})

it('collects what was abandoned, and only that', async () => {
  const start = new Date()
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const finished = await upload(alice, await acme())
  await finish(alice, finished)
  await upload(alice, Buffer.from('abandoned'))
  await announce(alice)
  expect(await files(app)).toHaveLength(2)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 0 })
  app.clock.now = new Date(start.getTime() + 80 * minute)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 2, blobs: 0 })
  expect(await files(app)).toHaveLength(1)
  expect(await finish(alice, finished)).toMatchObject({ status: 200 })
  app.clock.now = new Date(start.getTime() + 26 * 60 * minute)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 1, blobs: 0 })
  await app.services.database.fork().execute('delete from packages')
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 1 })
  expect(await files(app)).toEqual([])
})

/** Sends a form, `ID` being the upload's; gives what came of it. */
async function sendForm(body: string, type = headers) {
  await using app = await testApp()
  const alice = await app.member()
  const uploadId = await announce(alice)
  const answer = await alice.post('/api/packages/versions/upload', body.replace('ID', uploadId), { headers: type })
  return { status: answer.status, code: answer.body?.error?.code, files: (await files(app)).length }
}

/** All that is staged and stored. */
async function files(app: TestApp): Promise<string[]> {
  const folders = ['staging', 'sha256'].map((name) => join(app.config.BLOB_PATH, name))
  const entries = (await Promise.all(folders.map((path) => readdir(path, { recursive: true, withFileTypes: true })))).flat()
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Sends a body without end until an answer comes; tells how much went out. */
function sendForever(address: string, token: string, uploadId: string, type: string) {
  return new Promise<{ status: number; body: unknown; sent: number }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const outgoing = request(`${address}/api/packages/versions/upload?upload_id=${uploadId}`, { method: 'POST', headers, agent: false })
    let [sent, answered] = [0, false]
    outgoing.on('error', (error) => !answered && reject(error))
    outgoing.on('response', (response) => {
      answered = true
      json(response).then((body) => {
        outgoing.destroy()
        resolve({ status: response.statusCode ?? 0, body, sent })
      }, reject)
    })
    if (type.startsWith('multi'))
      outgoing.write(
        `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`,
      )
    const chunk = Buffer.alloc(65_536, 'a')
    const push = () => {
      if (answered || outgoing.destroyed) return
      for (let writable = true; writable; sent += chunk.length) writable = outgoing.write(chunk)
      outgoing.once('drain', push)
    }
    push()
  })
}
