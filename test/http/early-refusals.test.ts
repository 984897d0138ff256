import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { head, RawClient } from '../support/raw-client.ts'

let app: TestApp
let url: string
let alice: Actor
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
  ;[url, alice] = [await app.listen(), await app.member()]
})
afterAll(() => app[Symbol.asyncDispose]())

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const files = { 'content-type': 'multipart/form-data; boundary=x' }
const octets = { 'content-type': 'application/octet-stream' }
const gzip = { 'content-encoding': 'gzip' }
const wrong = { authorization: 'Bearer svc_pat_wrong' }
const upload = '/api/packages/versions/upload?upload_id=0192f0c4-0000-7000-8000-000000000000'

/** The two framings of a body: Content-Length and chunked. */
const framings: Record<string, string | number>[] = [{ 'content-length': 1_000_000 }, { 'transfer-encoding': 'chunked' }]

/** Sends the head of a request without its body, and returns the status of the response. */
async function statusOf(line: string, headers: Record<string, string | number>): Promise<number> {
  const client = await RawClient.open(url)
  client.socket.write(head(line, { 'x-forwarded-for': app.address(), ...headers }))
  await expect.poll(() => client.text).toMatch(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/)
  return Number(client.text.slice(9, 12))
}

describe('a request that is refused whatever its body contains gets its response before the body is sent', () => {
  it.each<[string, number, string, Record<string, string>]>([
    ['a query with a wrong token', 401, 'POST /graphql', { ...json, ...wrong }],
    ['a query with a wrong token, with a slash', 401, 'POST /graphql/', { ...json, ...wrong }],
    ['a compressed query', 415, 'POST /graphql', { ...json, ...gzip }],
    ['a query in another charset', 415, 'POST /graphql', { 'content-type': 'application/json; charset=utf-16' }],
    ['a query as a form', 415, 'POST /graphql', form],
    ['a query as files', 415, 'POST /graphql', files],
    ['a query for an image', 406, 'POST /graphql', { ...json, accept: 'image/png' }],
    ['another method', 405, 'PUT /graphql', json],
    ['a compressed sign-in', 415, 'POST /api/auth/login', { ...json, ...gzip }],
    ['a change without credentials', 401, 'PATCH /api/auth/profile', json],
    ['a change with a wrong token', 401, 'PATCH /api/auth/profile', { ...json, ...wrong }],
    ['an upload without credentials', 401, `POST ${upload}`, octets],
    ['a form upload without credentials', 401, `POST ${upload}`, files],
    ['an avatar without credentials', 401, 'POST /api/auth/avatar', files],
    ['a logo with a wrong token', 401, 'POST /api/admin/logo', { ...files, ...wrong }],
    ['a compressed code', 415, 'POST /oauth/token', { ...form, ...gzip }],
    ['another method of REST', 405, 'POST /api/v1/health', json],
    ['an unknown path', 404, 'POST /api/nowhere', json],
  ])('%s: %i', async (_what, status, line, headers) => {
    for (const framing of framings) expect(await statusOf(line, { ...headers, ...framing })).toBe(status)
  })

  it('a compressed change of a member: 415', async () => {
    const headers = { ...json, ...gzip, authorization: `Bearer ${alice.secret}` }
    for (const framing of framings) expect(await statusOf('PATCH /api/auth/profile', { ...headers, ...framing })).toBe(415)
  })

  it.each<[string, string, Record<string, string>, number]>([
    ['a query', 'POST /graphql', json, 128 * 1024],
    ['a sign-in', 'POST /api/auth/login', json, 64 * 1024],
    ['a code', 'POST /oauth/token', form, 64 * 1024],
    ['a token to revoke', 'POST /api/tokens/revoke', json, 64 * 1024],
  ])('%s over the limit without credentials: 413', async (_what, line, headers, limit) => {
    expect(await statusOf(line, { ...headers, 'content-length': limit + 1 })).toBe(413)
    const client = await RawClient.open(url)
    client.socket.write(head(line, { ...headers, 'x-forwarded-for': app.address(), 'transfer-encoding': 'chunked' }))
    client.socket.write(`100000\r\n${'a'.repeat(limit + 1)}`)
    await expect.poll(() => client.text).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('a query over the limit with a token: 413', async () => {
    const headers = { ...json, authorization: `Bearer ${alice.secret}`, 'content-length': 1024 ** 2 + 1 }
    expect(await statusOf('POST /graphql', headers)).toBe(413)
  })

  it.each<[string, string, Record<string, string>, number]>([
    ['queries', 'POST /graphql', json, 600],
    ['sign-ins', 'POST /api/auth/login', json, 10],
    ['signups', 'POST /api/auth/signup', json, 10],
    ['codes', 'POST /oauth/token', form, 30],
  ])('%s over the rate limit: 429', async (_what, line, headers, allowed) => {
    const ip = app.address()
    const [, path = ''] = line.split(' ')
    for (let sent = 0; sent < allowed; sent++) await app.anonymous.post(path, '', { ip, headers })
    for (const framing of framings) expect(await statusOf(line, { ...headers, ...framing, 'x-forwarded-for': ip })).toBe(429)
  })
})

it('authenticates a query again whose token was revoked while its body arrived', async () => {
  const body = '{"query": "{ me { email } }"}'
  const owner = await app.owner()
  const bob = await app.member()
  const send = async (between: () => Promise<unknown>) => {
    const client = await RawClient.open(url)
    const headers = { ...json, authorization: `Bearer ${bob.secret}`, 'content-length': body.length, connection: 'close' }
    const queries = app.queries.length
    client.socket.write(head('POST /graphql', headers) + body.slice(0, 9))
    await expect.poll(() => app.queries.length).toBeGreaterThan(queries)
    await between()
    client.socket.write(body.slice(9))
    return client.received
  }
  expect(await send(async () => {})).toMatchObject({ status: 200, text: expect.stringContaining(bob.email) })
  const disable = () => owner.put(`/api/admin/users/${bob.id}`, { isActive: false })
  expect((await send(async () => expect(await disable()).toMatchObject({ status: 200 }))).status).toBe(401)
})
