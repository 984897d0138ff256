import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp, type TestOptions } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, sendBytes, upload } from '../support/publish.ts'
import { PubClient, pubForm } from '../support/pub-client.ts'
import { head, RawClient } from '../support/raw-client.ts'

const path = '/api/packages/versions/upload'
const octets = { 'content-type': 'application/octet-stream' }

/** Returns what the package client reads: it looks for `<?xml` in the body and for these tags on one line. */
function readXml(body: string) {
  const tag = (name: string) => new RegExp(`<${name}>(.*)</${name}>`).exec(body)?.[1]
  return { hasXml: body.includes('<?xml'), code: tag('Code'), message: tag('Message') }
}

describe('an archive of 20 MB over a limit of 300 kB', () => {
  const archive = Buffer.alloc(20_000_000, 'a')
  const limited: TestOptions = { env: { MAX_UPLOAD_BYTES: '300000' } }
  const reason = 'The archive is larger than 300000 bytes, the limit of this server (MAX_UPLOAD_BYTES).'

  it.each(['form', 'whole body'])('is refused, and a client that writes before it reads receives the reason, as a %s', async (kind) => {
    await using app = await testApp(limited)
    const [alice, url] = [await app.member(), await app.listen()]
    for (let attempt = 0; attempt < 5; attempt++) {
      const { text, status, end } = await sendBeforeReading(url, alice, await announce(alice), archive, kind === 'form')
      expect({ status, end }).toEqual({ status: 413, end: 'in order' })
      expect(readXml(text)).toEqual({ hasXml: true, code: 'PackageRejected', message: reason })
    }
    expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  })

  it('is refused once, and the package client shows the reason and keeps its token', async () => {
    await using app = await testApp(limited)
    const [alice, address] = [await app.member(), await app.listen()]
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address, token: alice.secret ?? '' })
    await expect(pub.publish(archive)).rejects.toMatchObject({ status: 413, message: reason })
    expect(app.lines.filter((line) => line.includes(`POST ${path} `))).toEqual([expect.stringContaining(' 413 ')])
    expect(pub.hasToken).toBe(true)
    expect(await pub.publish(await packageArchive({ name: 'acme', version: '1.0.0' }))).toContain('acme')
  })

  it('is refused with the reason for an unknown upload, an invalid token and a viewer', async () => {
    await using app = await testApp()
    const [alice, viewer, url] = [await app.member(), await app.viewer(), await app.listen()]
    const [unknown, invalid] = ['0192f0c4-0000-7000-8000-000000000000', app.withToken('svc_pat_invalid')]
    for (const isForm of [true, false]) {
      for (const [actor, expected] of [
        [alice, { status: 404, code: 'NotFound' }],
        [invalid, { status: 401, code: 'MissingAuthentication' }],
        [viewer, { status: 403, code: 'InsufficientPermissions' }],
      ] as const) {
        const { text, status, end } = await sendBeforeReading(url, actor, unknown, archive, isForm)
        expect({ status, end, code: readXml(text).code }).toEqual({ ...expected, end: 'in order' })
      }
    }
  })

  it('is refused for each of 40 fetch requests of 8 MiB', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '1024' } })
    const [alice, url] = [await app.member(), await app.listen()]
    const [uploadId, body] = [await announce(alice), Buffer.alloc(8 * 1024 ** 2)]
    const headers = { ...octets, authorization: `Bearer ${alice.secret}` }
    const outcomes: unknown[] = []
    for (let request = 0; request < 40; request++) {
      const answer = await fetch(`${url}${path}?upload_id=${uploadId}`, { method: 'POST', headers, body }).catch(String)
      outcomes.push(typeof answer === 'string' ? answer : { status: answer.status, code: readXml(await answer.text()).code })
    }
    expect(outcomes).toEqual(Array.from({ length: 40 }, () => ({ status: 413, code: 'PackageRejected' })))
  })
})

describe('the answer at the upload URL', () => {
  it.each<[number, TestOptions, (app: TestApp, alice: Actor) => Promise<{ status: number; raw: Buffer }>]>([
    [400, {}, async (_app, alice) => alice.post(path, 'no form', { headers: { 'content-type': 'multipart/form-data; boundary=x' } })],
    [400, {}, async (_app, alice) => alice.post(path, 'a', { headers: octets })],
    [401, {}, async (app) => app.anonymous.post(path, 'a', { headers: octets })],
    [403, {}, async (app) => (await app.viewer()).post(path, 'a', { headers: octets })],
    [403, { setUp: false }, async (app) => app.anonymous.post(path, 'a', { headers: octets })],
    [404, {}, async (_app, alice) => sendBytes(alice, 'unknown', Buffer.from('a'))],
    [413, { env: { MAX_UPLOAD_BYTES: '10' } }, async (_app, alice) => sendBytes(alice, await announce(alice), Buffer.alloc(11))],
    [415, {}, async (_app, alice) => alice.post(path, '{}', { headers: { 'content-type': 'application/json' } })],
    [415, {}, async (_app, alice) => alice.post(path, 'a', { headers: { 'content-type': '' } })],
    [429, { env: { MAX_UPLOAD_BYTES: '10', UPLOAD_STAGING_BYTES: '10' } }, (_app, alice) => sendTwice(alice, Buffer.alloc(6))],
    [503, { env: { MIN_FREE_BYTES: String(2 ** 50) } }, (_app, alice) => sendBytes(alice, 'unknown', Buffer.alloc(9))],
  ])('contains the reason of a %i in the error envelope and in the XML that the package client reads', async (status, options, send) => {
    await using app = await testApp(options)
    const answer = await send(app, await app.member())
    const text = answer.raw.toString()
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    const message = error.message.replaceAll('"', "'")
    expect({ status: answer.status, ...readXml(text) }).toEqual({ status, hasXml: true, code: error.code, message })
  })

  it('is always one line of well-formed XML', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'content-length': '1' }
    const { body, raw } = await alice.post(`${path}?upload_id=<a>%0A"&`, 'x', { headers })
    const xml: string = body.xml
    expect(raw.toString()).toContain(xml)
    expect(xml).toMatch(/^<\?xml version='1\.0' encoding='UTF-8'\?><Error><Code>\w+<\/Code><Message>[^<>\n"]+<\/Message><\/Error>$/)
  })

  it('contains no XML at other URLs', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const answer of [
      await finish(alice, 'unknown'),
      await finish(alice, await upload(alice, Buffer.from('no archive'))),
      await alice.get('/api/packages/unknown'),
      await app.anonymous.get('/api/packages/versions/new'),
      await alice.post('/api/auth/avatar', 'a', { headers: octets }),
    ])
      expect(Object.keys(answer.body)).toEqual(['error'])
  })
})

/** Sends two archives of different uploads and returns the second answer. */
async function sendTwice(actor: Actor, archive: Buffer) {
  await upload(actor, archive)
  return sendBytes(actor, await announce(actor), archive)
}

/** Sends an archive with a client that writes the whole request before it reads. */
function sendBeforeReading(url: string, actor: Actor, uploadId: string, archive: Buffer, isForm: boolean) {
  const { body, contentType } = isForm ? pubForm({ upload_id: uploadId }, archive) : { body: archive, contentType: octets['content-type'] }
  const target = isForm ? path : `${path}?upload_id=${uploadId}`
  const headers = { authorization: `Bearer ${actor.secret}`, 'content-type': contentType, 'content-length': body.length }
  return RawClient.open(url).then((client) => client.writeFirst(head(`POST ${target}`, headers), body))
}
