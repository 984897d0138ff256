import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { announce } from '../support/publish.ts'
import { head, RawClient } from '../support/raw-client.ts'

let app: TestApp
let url: string
let alice: Actor
let viewer: Actor
beforeAll(async () => {
  app = await testApp({ env: { MAX_UPLOAD_BYTES: '300000' } })
  ;[url, alice, viewer] = [await app.listen(), await app.member(), await app.viewer()]
})
afterAll(() => app[Symbol.asyncDispose]())

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'multipart/form-data; boundary=x' }
const octets = { 'content-type': 'application/octet-stream' }
const size = 8 * 1024 ** 2
const picture = `--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`
const upload = '/api/packages/versions/upload?upload_id=0192f0c4-0000-7000-8000-000000000000'

/** The two framings of a body: Content-Length and chunked. */
const framings: { headers: Record<string, string | number>; frame: (body: string) => string[] }[] = [
  { headers: { 'content-length': size }, frame: (body) => [body] },
  { headers: { 'transfer-encoding': 'chunked' }, frame: (body) => [`${size.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] },
]

describe('a body of 8 MiB whose request is refused', () => {
  it.each<[string, string, Record<string, string>, string, number, string]>([
    ['an avatar over the limit', 'POST /api/auth/avatar', form, picture, 413, 'InvalidInput'],
    ['an avatar without a file', 'POST /api/auth/avatar', octets, '', 415, 'InvalidInput'],
    ['JSON over the limit', 'PATCH /api/auth/profile', json, '{"displayName": "', 413, 'InvalidInput'],
    ['JSON over the limit of an open endpoint', 'POST /api/auth/login', json, '{"email": "', 413, 'InvalidInput'],
    ['a query over the limit', 'POST /graphql', json, '{"query": "', 413, 'InvalidInput'],
    ['a form over the limit', 'POST /oauth/token', { 'content-type': 'application/x-www-form-urlencoded' }, 'code=', 413, ''],
    ['an unsupported type', 'PATCH /api/auth/profile', { 'content-type': 'text/csv' }, '', 415, 'InvalidInput'],
    ['an invalid type', 'PATCH /api/auth/profile', { 'content-type': ';' }, '', 415, 'InvalidInput'],
    ['an unknown path', 'POST /api/nowhere', json, '', 404, 'NotFound'],
    ['a wrong method', 'POST /api/v1/health', json, '', 405, 'InvalidInput'],
    ['a malformed path', 'POST /api/%zz', json, '', 404, 'NotFound'],
    ['an unknown page', 'POST /nowhere', json, '', 404, 'NotFound'],
    ['the doctor of another server', 'POST /api/v1/doctor', octets, '', 404, 'NotFound'],
  ])(
    'is discarded, and a client that writes before it reads receives the response: %s',
    async (_what, line, headers, start, status, code) => {
      for (const framing of framings) {
        const client = await RawClient.open(url)
        const request = head(line, { ...headers, ...framing.headers, authorization: `Bearer ${alice.secret}` })
        const { text, ...received } = await client.writeFirst(request, ...framing.frame(start + 'a'.repeat(size - start.length)))
        expect(received).toEqual({ status, end: 'in order' })
        expect(text).toContain(code)
      }
    },
  )

  it('is discarded for a request without a body, and the connection is closed gracefully on request', async () => {
    for (const { headers, frame } of framings) {
      const client = await RawClient.open(url)
      const request = head('GET /api/v1/version', { connection: 'close', ...headers })
      const { status, end } = await client.writeFirst(request, ...frame('a'.repeat(size)))
      expect({ status, end }).toEqual({ status: 200, end: 'in order' })
    }
  })

  it('keeps the connection open when at most 64 KiB are left', async () => {
    const client = await RawClient.open(url)
    const body = 'a'.repeat(60_000)
    client.socket.write(head('POST /api/nowhere', { ...json, 'content-length': body.length }))
    await expect.poll(() => client.text).toMatch(/^HTTP\/1\.1 404 /)
    client.socket.write(body)
    const { text, end } = await client.writeFirst(head('GET /api/v1/version', { connection: 'close' }))
    expect(text).toMatch(/^HTTP\/1\.1 404 .*HTTP\/1\.1 200 .*"version"/s)
    expect(end).toBe('in order')
  })
})

describe('a client that waits for 100 Continue', () => {
  const waits = { expect: '100-continue' }
  it.each<[string, string, Record<string, string | number>, () => Actor, number]>([
    ['an archive over the limit', `POST ${upload}`, { ...octets, 'content-length': 300_001 }, () => alice, 413],
    ['a form over the limit', 'POST /api/packages/versions/upload', { ...form, 'content-length': 20_000_000 }, () => alice, 413],
    ['an avatar over the limit', 'POST /api/auth/avatar', { ...form, 'content-length': 20_000_000 }, () => alice, 413],
    ['JSON over the limit', 'PATCH /api/auth/profile', { ...json, 'content-length': 1_048_577 }, () => alice, 413],
    ['a query over the limit', 'POST /graphql', { ...json, 'content-length': 1_048_577 }, () => alice, 413],
    ['an invalid token', `POST ${upload}`, { ...octets, 'content-length': 10 }, () => app.withToken('svc_pat_invalid'), 401],
    ['a form and an invalid token', `POST ${upload}`, { ...form, 'content-length': 10 }, () => app.withToken('svc_pat_no'), 401],
    ['a viewer', `POST ${upload}`, { ...octets, 'transfer-encoding': 'chunked' }, () => viewer, 403],
    ['JSON and an invalid token', 'PATCH /api/auth/profile', { ...json, 'content-length': 10 }, () => app.withToken('svc_pat_x'), 401],
    ['an unknown path', 'POST /api/nowhere', { ...json, 'content-length': 10 }, () => alice, 404],
  ])('is refused immediately, and the connection is closed: %s', async (_what, line, headers, actor, status) => {
    const client = await RawClient.open(url)
    client.socket.write(head(line, { ...headers, ...waits, authorization: `Bearer ${actor().secret}` }))
    const received = await client.received
    expect(received).toMatchObject({ status, end: 'in order' })
    expect(received.text).not.toContain('100 Continue')
  })

  it.each<[string, Record<string, string>]>([
    ['octet-stream', octets],
    ['form', form],
  ])('receives 100 Continue once the server reads the archive, as %s', async (kind, type) => {
    const [uploadId, client] = [await announce(alice), await RawClient.open(url)]
    const file = 'a'.repeat(100_000)
    const fields = `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n${picture}`
    const body = kind === 'form' ? `${fields}${file}\r\n--x--\r\n` : file
    const headers = { ...type, ...waits, 'content-length': body.length, connection: 'close', authorization: `Bearer ${alice.secret}` }
    client.socket.write(head(`POST /api/packages/versions/upload?upload_id=${uploadId}`, headers))
    await once(client.socket, 'data')
    expect(client.text).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    client.socket.write(body)
    expect((await client.received).text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 302 /)
  })

  it('receives the response when it sends the body without waiting', async () => {
    const client = await RawClient.open(url)
    const headers = { ...octets, ...waits, 'content-length': size, authorization: `Bearer ${alice.secret}` }
    const { text, end } = await client.writeFirst(head(`POST ${upload}`, headers), 'a'.repeat(size))
    expect(text).toMatch(/^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 413 /)
    expect(end).toBe('in order')
  })
})
