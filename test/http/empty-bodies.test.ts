import { request } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

const form = 'application/x-www-form-urlencoded'
const path = '/api/auth/sessions/revoke-others'

type Sent = { method?: string; path: string; headers: Record<string, string>; body: string; isChunked?: boolean }

/** Sends a body over its own connection, with Content-Length or chunked, and returns the status and the error code. */
async function send(url: string, { method = 'POST', path, headers, body, isChunked = false }: Sent): Promise<[number, string | undefined]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string | undefined]>()
  const framing = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }
  const outgoing = request(`${url}${path}`, { method, agent: false, headers: { ...framing, ...headers } })
  outgoing.on('error', reject).on('response', (response) => {
    readJson(response).then((answer) => {
      const { error } = answer as { error?: { code: string } }
      resolve([response.statusCode ?? 0, error?.code])
    }, reject)
  })
  outgoing.end(body)
  return promise
}

it.each([form, 'multipart/form-data; boundary=x', 'text/plain', 'application/xml'])(
  'accepts an empty body of type %s as no body',
  async (type) => {
    await using app = await testApp()
    const url = await app.listen()
    const headers = { authorization: `Bearer ${(await app.member()).secret}`, 'content-type': type }
    for (const isChunked of [false, true]) {
      expect(await send(url, { path, headers, body: '', isChunked })).toEqual([200, undefined])
      expect(await send(url, { path, headers, body: 'a=1', isChunked })).toEqual([415, 'InvalidInput'])
      expect(await send(url, { method: 'PATCH', path: '/api/auth/profile', headers, body: '', isChunked })).toEqual([400, 'InvalidInput'])
    }
  },
)

it('requires credentials and a CSRF token, and answers 404 for unknown paths', async () => {
  await using app = await testApp()
  const url = await app.listen()
  const { cookies } = await (await app.member()).session()
  const cookie = Object.entries(cookies).map((pair) => pair.join('='))
  const headers = { 'content-type': form }
  expect(await send(url, { path, headers, body: '' })).toEqual([401, 'MissingAuthentication'])
  expect(await send(url, { path, headers: { ...headers, cookie: cookie.join('; ') }, body: '' })).toEqual([403, 'CsrfMismatch'])
  for (const body of ['', 'a=1']) expect(await send(url, { path: '/api/nothing', headers, body })).toEqual([404, 'NotFound'])
})
