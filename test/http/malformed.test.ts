import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

/** Sends bytes over its own connection and returns the complete answer. */
async function sendRaw(url: string, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(request)
  return text(socket)
}

it('answers HTTP/1.1 without a Host header with the error envelope', async () => {
  await using app = await testApp()
  const url = await app.listen()
  const answer = await sendRaw(url, 'GET /api/v1/version HTTP/1.1\r\nConnection: close\r\n\r\n')
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain('{"error":{"code":"InvalidInput","message":"The header Host is missing."}}')
  expect(await sendRaw(url, 'GET /api/v1/version HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
})

it('logs a line for each request that is not valid HTTP', async () => {
  await using app = await testApp()
  const answer = await sendRaw(await app.listen(), 'this is not HTTP\r\n\r\n')
  expect(answer).toContain('{"error":{"code":"InvalidInput","message":"The request is not well-formed HTTP."}}')
  expect(app.lines.filter((line) => line.includes('malformed request'))).toEqual([
    expect.stringMatching(/INFO malformed request 400 127\.0\.0\.1 HPE_\w+\n$/),
  ])
})

it('refuses headers that are too large, such as a token of 20 kB', async () => {
  await using app = await testApp()
  const answer = await sendRaw(
    await app.listen(),
    `GET /api/packages/acme HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'e'.repeat(20_000)}\r\n\r\n`,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  expect(answer).toContain('{"error":{"code":"InvalidInput","message":"The request headers are too large."}}')
})

it.each(['/api/api/packages/acme', '/api/pakcages/acme', '/graphq'])(
  'names the address of the registry for the unknown path %s',
  async (path) => {
    await using app = await testApp()
    const message = `Not found. This registry is at ${app.config.SERVER_URL}.`
    expect(await app.anonymous.get(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound', message } } })
  },
)

it('names the address of the registry when its path prefix is missing', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'http://localhost:8080/registry' } })
  const message = 'Not found. This registry is at http://localhost:8080/registry.'
  const options = { headers: { accept: 'application/json' } }
  expect(await app.anonymous.get('/api/packages/acme', options)).toMatchObject({ status: 404, body: { error: { message } } })
})
