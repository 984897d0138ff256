import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { PubClient } from '../support/pub-client.ts'
import { announce, finish, sendBytes } from '../support/publish.ts'
import { finishWithKey, isPublished, sendWithKey, startUpload, uploadForm } from '../support/upload-keys.ts'

const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })

describe('the key of an upload', () => {
  it.each(['http://127.0.0.1:8080', 'https://localhost:8080', 'http://packages:8080'])(
    'allows a client to publish that knows http://localhost:8080 as %s',
    async (hostedUrl) => {
      await using app = await testApp()
      const alice = await app.member()
      const pub = new PubClient({
        hostedUrl,
        serverUrl: 'http://localhost:8080',
        address: await app.listen(),
        token: alice.secret ?? '',
      })
      expect(await pub.publish(await acme())).toBe('Successfully uploaded acme 1.0.0: http://localhost:8080/packages/acme')
      expect(pub.hasToken).toBe(true)
      await expect(pub.publish(Buffer.from('no archive'))).rejects.toMatchObject({ status: 400, message: expect.stringContaining('gzip') })
      expect(pub.hasToken).toBe(true)
    },
  )

  it('is part of the upload URL in REST and GraphQL', async () => {
    await using app = await testApp({ env: { SERVER_URL: 'https://example.com/pub' } })
    const alice = await app.member()
    const form =
      /^https:\/\/example\.com\/pub\/api\/packages\/versions\/upload\?upload_id=[0-9a-f-]{36}&upload_key=svc_upload_token_\w{97}$/
    expect((await alice.get('/pub/api/packages/versions/new')).body).toEqual({
      url: expect.stringMatching(form),
      fields: { upload_id: expect.any(String) },
    })
    const answer = await alice.send('POST', '/pub/graphql', { query: 'mutation { createUpload { url } }' })
    expect(answer.body.data.createUpload.url).toMatch(form)
  })

  it('authorizes sending and finishing the upload, repeatedly', async () => {
    await using app = await testApp()
    const upload = await startUpload(await app.member())
    const sent = await sendWithKey(app.anonymous, upload, await acme())
    expect(sent).toMatchObject({
      status: 302,
      headers: {
        location: `http://localhost:8080/api/packages/versions/newUploadFinish?upload_id=${upload.id}&upload_key=${upload.key}`,
        'cache-control': 'private, no-store',
      },
    })
    const answer = await finishWithKey(app.anonymous, upload)
    expect(answer).toMatchObject({ status: 200, body: { success: { message: expect.stringContaining('acme 1.0.0') } } })
    expect(await finishWithKey(app.anonymous, upload)).toMatchObject({ status: 200, body: answer.body })
    expect(await sendWithKey(app.anonymous, upload, Buffer.from('other'))).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, upload)).toMatchObject({ status: 200, body: answer.body })
  })

  it('is optional when a token is sent, and then omitted from Location', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const started = await startUpload(alice)
    // Some scripts append the id to the upload URL.
    const appended = await alice.post(`${started.address}&upload_key=${started.key}?upload_id=${started.id}`, await acme(), {
      headers: { 'content-type': 'application/octet-stream' },
    })
    expect(appended).toMatchObject({
      status: 302,
      headers: { location: `http://localhost:8080/api/packages/versions/newUploadFinish?upload_id=${started.id}` },
    })
    expect(await finish(alice, started.id)).toMatchObject({ status: 200 })
    const other = await announce(alice)
    expect(await sendBytes(alice, other, await acme('1.1.0'))).toMatchObject({ status: 302 })
    expect(await finish(alice, other)).toMatchObject({ status: 200 })
    expect(await isPublished(app, 'acme', '1.1.0')).toBe(true)
  })

  it('needs no CSRF token when a session started the upload, and ignores cookies', async () => {
    await using app = await testApp()
    const alice = await (await app.member()).session()
    const upload = await startUpload(alice)
    const stranger = await (await app.member()).session()
    const { body, headers } = uploadForm(upload.id, await acme())
    const sent = await stranger.post(`${upload.address}&upload_key=${upload.key}`, body, { headers: { ...headers, 'x-csrf-token': '' } })
    expect(sent).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, upload)).toMatchObject({ status: 200 })
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries.map(({ agent }: { agent: { userId: string } }) => agent.userId)).toEqual([alice.id, alice.id])
  })

  it('remains valid after a change of JWT_SECRET while JWT_SECRET_PREVIOUS is set', async () => {
    await using app = await testApp()
    const upload = await startUpload(await app.member())
    const former = app.config.JWT_SECRET
    const JWT_SECRET = 'another secret for tests that is long enough'
    await app.stop()
    await using replaced = await testApp({ sameDatabaseAs: app, config: { JWT_SECRET } })
    expect(await sendWithKey(replaced.anonymous, upload, await acme())).toMatchObject({ status: 404 })
    await replaced.stop()
    await using rotated = await testApp({ sameDatabaseAs: app, config: { JWT_SECRET, JWT_SECRET_PREVIOUS: former } })
    expect(await sendWithKey(rotated.anonymous, upload, await acme())).toMatchObject({ status: 302 })
    expect(await finishWithKey(rotated.anonymous, upload)).toMatchObject({ status: 200 })
  })

  it('does not appear in the log, even as part of a path', async () => {
    await using app = await testApp({ env: { LOG_FORMAT: 'json' } })
    const upload = await startUpload(await app.member())
    await sendWithKey(app.anonymous, upload, await acme())
    await finishWithKey(app.anonymous, upload)
    await app.anonymous.get(`/api/packages/versions/${upload.key}`, { headers: { 'x-request-id': upload.key } })
    const log = app.lines.join('')
    expect(log).toContain('"path":"/api/packages/versions/svc_upload_***"')
    expect(log).toContain('"path":"/api/packages/versions/newUploadFinish"')
    expect(log).not.toContain(upload.key.slice(-64))
  })
})
