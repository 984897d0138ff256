import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, publish, sendBytes, upload } from '../support/publish.ts'
import { storedFiles } from '../support/uploads.ts'

const minute = 60_000
const unknownId = '01900000-0000-7000-8000-000000000000'
const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })

describe('an upload', () => {
  it('belongs to the user who started it', async () => {
    await using app = await testApp({ alone: true })
    const [alice, admin] = [await app.member(), await app.admin()]
    const uploadId = await announce(alice)
    for (const id of [uploadId, unknownId, 'no-uuid', '']) {
      expect(await sendBytes(admin, id, await acme())).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
      expect(await finish(admin, id)).toMatchObject({ status: id ? 404 : 400 })
    }
    expect(await storedFiles(app)).toEqual([])
    expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
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

  it('frees its slot once it is finished or refused', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) await publish(alice, { name: 'acme', version })
    for (let count = 0; count < 4; count++)
      expect(await finish(alice, await upload(alice, Buffer.from('rubbish')))).toMatchObject({ status: 400 })
  })

  it('can be sent again and finished again', async () => {
    await using app = await testApp({ alone: true })
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
    expect(await storedFiles(app)).toHaveLength(1)
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

  it('is refused as an empty file when it has no bytes', async () => {
    await using app = await testApp()
    const alice = await app.member()
    expect(await finish(alice, await upload(alice, Buffer.alloc(0)))).toMatchObject({
      status: 400,
      body: { error: { code: 'PackageRejected', message: 'The uploaded file is empty. Upload a .tar.gz archive.' } },
    })
  })

  it('leaves no file and no row when it is refused', async () => {
    await using app = await testApp({ alone: true })
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
    expect(await storedFiles(app)).toHaveLength(1)
  })

  it('requires the CSRF token with a session, and no password change due', async () => {
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

it('is refused for its error or as unknown when it is finished twice concurrently', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let round = 0; round < 16; round++) {
    const id = await upload(alice, Buffer.from(`no archive ${round}`))
    const later = async () => {
      for (let turn = 0; turn < 2 * round; turn++) await new Promise(setImmediate)
      return finish(alice, id)
    }
    const answers = await Promise.all([finish(alice, id), later()])
    const codes: string[] = answers.map(({ body }) => body.error.code)
    expect(codes).toContain('PackageRejected')
    for (const code of codes) expect(['PackageRejected', 'NotFound']).toContain(code)
  }
})

it('deletes abandoned uploads only', async () => {
  const start = new Date()
  await using app = await testApp({ alone: true, now: start })
  const alice = await app.member()
  const finished = await upload(alice, await acme())
  await finish(alice, finished)
  await upload(alice, Buffer.from('abandoned'))
  await announce(alice)
  expect(await storedFiles(app)).toHaveLength(2)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 0 })
  app.clock.now = new Date(start.getTime() + 80 * minute)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 2, blobs: 0 })
  expect(await storedFiles(app)).toHaveLength(1)
  expect(await finish(alice, finished)).toMatchObject({ status: 200 })
  app.clock.now = new Date(start.getTime() + 26 * 60 * minute)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 1, blobs: 0 })
  await app.services.database.fork().execute('delete from packages')
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 1 })
  expect(await storedFiles(app)).toEqual([])
})
