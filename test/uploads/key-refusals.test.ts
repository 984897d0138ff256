import { describe, expect, it } from 'vitest'
import { makeToken } from '../factories.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, publish, upload as sendUpload } from '../support/publish.ts'
import { finishWithKey, isPublished, sendWithKey, startUpload, type StartedUpload, uploadForm } from '../support/upload-keys.ts'
import { withJobToken } from '../../server/accounts/tokens/job-token.ts'

const start = new Date('2026-05-01T12:00:00Z')
const later = (minutes: number) => new Date(start.getTime() + minutes * 60_000)
const acme = (version = '1.0.0') => packageArchive({ name: 'acme', version })

const unknown = { status: 404, body: { error: { code: 'NotFound', message: expect.stringContaining('Publish again') } } }
const useless = {
  status: 401,
  headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="pub", message="The token is invalid, expired or revoked\. /) },
  body: { error: { code: 'MissingAuthentication' } },
}
const forbidden = { status: 403, body: { error: { code: 'InsufficientPermissions' } } }

describe('a key of another upload', () => {
  it('is refused like an unknown upload', async () => {
    await using app = await testApp()
    const [alice, eve] = [await app.member(), await app.member()]
    const [own, other, foreign] = [await startUpload(alice), await startUpload(alice), await startUpload(eve)]
    const [kind, id, signature] = own.key.split('_').slice(2)
    const guesses = {
      'of another upload of the same person': other.key,
      'of another person': foreign.key,
      empty: '',
      'without its signature': `svc_upload_${kind}_${id}_`,
      'with a changed signature': `svc_upload_${kind}_${id}_${signature?.replace(/./, (digit) => (digit === '0' ? '1' : '0'))}`,
      'of another credential': `svc_upload_${kind}_${foreign.key.split('_')[3]}_${signature}`,
      'of another kind': `svc_upload_session_${id}_${signature}`,
      'in upper case': own.key.toUpperCase(),
      'given twice': `${own.key}&upload_key=${own.key}`,
      'that is a token': alice.secret ?? '',
    }
    for (const [what, key] of Object.entries(guesses)) {
      expect(await sendWithKey(app.anonymous, { ...own, key }, await acme()), what).toMatchObject(unknown)
      expect(await finishWithKey(app.anonymous, { ...own, key }), what).toMatchObject(unknown)
    }
    expect(await isPublished(app, 'acme', '1.0.0')).toBe(false)
    expect(await sendWithKey(app.anonymous, own, await acme())).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, own)).toMatchObject({ status: 200 })
  })

  it('cannot be used for another upload named in the form', async () => {
    await using app = await testApp()
    const [alice, eve] = [await app.member(), await app.member()]
    const victims = [await announce(alice), await announce(eve)]
    const own = await startUpload(eve)
    for (const victim of victims) {
      const { body, headers } = uploadForm(victim, await acme())
      expect(await app.anonymous.post(`${own.address}&upload_key=${own.key}`, body, { headers })).toMatchObject(unknown)
    }
    const { body, headers } = uploadForm(own.id, await acme())
    expect(await app.anonymous.post(`${own.address}&upload_key=${own.key}`, body, { headers })).toMatchObject({ status: 302 })
    expect(await finish(alice, victims[0] ?? '')).toMatchObject({ status: 400 })
  })
})

describe('a token sent along with the key', () => {
  it('takes precedence over the key', async () => {
    await using app = await testApp()
    const [alice, eve, viewer] = [await app.member(), await app.member(), await app.viewer()]
    const own = await startUpload(alice)
    const reading = await app.withScopes(alice, ['read'])
    const cases = [
      { actor: app.withToken('svc_pat_wrong'), refused: useless },
      { actor: eve, refused: unknown },
      { actor: await app.admin(), refused: unknown },
      { actor: viewer, refused: forbidden },
      { actor: reading, refused: forbidden },
    ]
    for (const { actor, refused } of cases) {
      expect(await sendWithKey(actor, own, await acme())).toMatchObject(refused)
      expect(await finishWithKey(actor, own)).toMatchObject(refused)
    }
    await withJobToken(app.services, { packages: ['acme'], isPublicOnly: false, lifeMs: 60_000 }, async (secret) => {
      expect(await app.withToken(secret).get('/api/packages/versions/new')).toMatchObject(useless)
      expect(await sendWithKey(app.withToken(secret), own, await acme())).toMatchObject(useless)
    })
    expect(await sendWithKey(alice, own, await acme())).toMatchObject({ status: 302 })
    expect(await finishWithKey(alice, own)).toMatchObject({ status: 200 })
  })
})

describe('the key of an upload', () => {
  it('expires after ten minutes with its upload, finished or not', async () => {
    await using app = await testApp({ now: start })
    const alice = await app.member()
    const [open, finished] = [await startUpload(alice), await startUpload(alice)]
    expect(await sendWithKey(app.anonymous, finished, await acme())).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, finished)).toMatchObject({ status: 200 })
    app.clock.now = later(9)
    expect(await sendWithKey(app.anonymous, open, await acme('1.1.0'))).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, finished)).toMatchObject({ status: 200 })
    app.clock.now = later(10)
    for (const upload of [open, finished]) {
      expect(await sendWithKey(app.anonymous, upload, await acme())).toMatchObject(unknown)
      expect(await finishWithKey(app.anonymous, upload)).toMatchObject(unknown)
    }
    expect(await finish(alice, finished.id)).toMatchObject({ status: 200 })
    expect(await isPublished(app, 'acme', '1.1.0')).toBe(false)
  })

  it('expires when its upload is refused or replaced', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const [refused, replaced] = [await startUpload(alice), await startUpload(alice)]
    expect(await sendWithKey(app.anonymous, refused, Buffer.from('no archive'))).toMatchObject({ status: 302 })
    expect(await finishWithKey(app.anonymous, refused)).toMatchObject({ status: 400, body: { error: { code: 'PackageRejected' } } })
    for (let count = 0; count < 100; count++) await announce(alice)
    for (const upload of [refused, replaced]) {
      expect(await sendWithKey(app.anonymous, upload, await acme())).toMatchObject(unknown)
      expect(await finishWithKey(app.anonymous, upload)).toMatchObject(unknown)
    }
  })

  it('expires when the token that started the upload is revoked or its owner disabled', async () => {
    await using app = await testApp({ now: start })
    const [alice, admin] = [await app.member(), await app.admin()]
    const made = await alice.post('/api/auth/keys', { name: 'parent' })
    const parent = app.withToken(made.body.secret)
    const child = app.withToken((await parent.post('/api/auth/keys', { name: 'child', expiresInDays: 1 })).body.secret)
    const [byParent, byChild, byOther] = [await startAndSend(parent), await startAndSend(child), await startAndSend(alice)]
    expect(await alice.delete(`/api/auth/keys/${made.body.id}`)).toMatchObject({ status: 200 })
    for (const upload of [byParent, byChild]) {
      expect(await sendWithKey(app.anonymous, upload, await acme())).toMatchObject(useless)
      expect(await finishWithKey(app.anonymous, upload)).toMatchObject(useless)
    }
    expect(await admin.put(`/api/admin/users/${alice.id}`, { isActive: false })).toMatchObject({ status: 200 })
    expect(await finishWithKey(app.anonymous, byOther)).toMatchObject(useless)
    expect(await admin.put(`/api/admin/users/${alice.id}`, { isActive: true })).toMatchObject({ status: 200 })
    expect(await finishWithKey(app.anonymous, byOther)).toMatchObject({ status: 200 })
    expect(await finishWithKey(app.anonymous, byParent)).toMatchObject(useless)
  })

  it('expires when the session that started the upload ends by logout or password reset', async () => {
    await using app = await testApp()
    const [alice, admin] = [await app.member(), await app.admin()]
    const [leaving, staying] = [await alice.session(), await alice.session()]
    const [byLeaving, byStaying] = [await startAndSend(leaving), await startAndSend(staying)]
    expect(await leaving.post('/api/auth/logout')).toMatchObject({ status: 200 })
    expect(await finishWithKey(app.anonymous, byLeaving)).toMatchObject(useless)
    expect(await admin.post(`/api/admin/users/${alice.id}/reset-password`)).toMatchObject({ status: 200 })
    expect(await sendWithKey(app.anonymous, byStaying, await acme())).toMatchObject(useless)
    expect(await finishWithKey(app.anonymous, byStaying)).toMatchObject(useless)
    expect(await isPublished(app, 'acme', '1.0.0')).toBe(false)
  })

  it('grants at most the current permissions of the token that started the upload', async () => {
    await using app = await testApp()
    const [alice, admin, bob] = [await app.member(), await app.admin(), await app.member()]
    await publish(bob, { name: 'acme', version: '1.0.0' })
    const [demoted, foreign] = [await startAndSend(alice, await acme('1.1.0')), await startAndSend(bob, await acme('1.2.0'))]
    expect(await admin.put(`/api/packages/acme/uploaders/${alice.email}`)).toMatchObject({ status: 200 })
    expect(await admin.delete(`/api/packages/acme/uploaders/${bob.email}`)).toMatchObject({ status: 200 })
    expect(await finishWithKey(app.anonymous, foreign)).toMatchObject(forbidden)
    expect(await admin.put(`/api/admin/users/${alice.id}`, { role: 'viewer' })).toMatchObject({ status: 200 })
    expect(await sendWithKey(app.anonymous, demoted, await acme('1.1.0'))).toMatchObject(forbidden)
    expect(await finishWithKey(app.anonymous, demoted)).toMatchObject(forbidden)
    expect(
      await app.anonymous.head(`/api/packages/versions/newUploadFinish?upload_id=${demoted.id}&upload_key=${demoted.key}`),
    ).toMatchObject({
      status: 403,
    })
    // A token of an administrator without the scope "admin" has the permissions of a member.
    const weak = app.withToken(await makeToken(app.services, admin.id, ['write']))
    expect(await finishWithKey(app.anonymous, await startAndSend(weak, await acme('1.3.0')))).toMatchObject(forbidden)
  })

  it('does not authorize other requests', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const { id, key } = await startUpload(alice)
    const query = `upload_id=${id}&upload_key=${key}`
    for (const path of ['/api/auth/me', '/api/packages/versions/new', '/api/packages/acme', '/api/auth/keys', '/api/search'])
      expect(await app.anonymous.get(`${path}?${query}`), path).toMatchObject({ status: 401 })
    expect(await app.withToken(key).get('/api/auth/me')).toMatchObject({ status: 401 })
    const mutation = { query: `mutation { finalizeUpload(input: { uploadId: "${id}" }) { message } }` }
    const answer = await app.anonymous.post(`/graphql?${query}`, mutation)
    expect(answer.body.errors[0].extensions.code).toBe('MissingAuthentication')
  })

  it('is required when no token is sent', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const id = await sendUpload(alice, await acme())
    expect(await app.anonymous.get(`/api/packages/versions/newUploadFinish?upload_id=${id}`)).toMatchObject({ status: 401 })
    expect(await app.anonymous.post(`/api/packages/versions/upload?upload_id=${id}`)).toMatchObject({ status: 401 })
    expect(await finish(await app.withScopes(alice, ['write']), id)).toMatchObject({ status: 200 })
  })
})

/** Starts an upload as this user and sends the archive. */
async function startAndSend(actor: Parameters<typeof startUpload>[0], archive?: Buffer): Promise<StartedUpload> {
  const upload = await startUpload(actor)
  const answer = await sendWithKey(actor, upload, archive ?? (await acme()))
  if (answer.status !== 302) throw new Error(JSON.stringify(answer.body))
  return upload
}
