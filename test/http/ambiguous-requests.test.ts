import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { RawClient } from '../support/raw-client.ts'

let app: TestApp
let url: string
let alice: Actor
beforeAll(async () => {
  app = await testApp()
  ;[url, alice] = [await app.listen(), await app.member()]
})
afterAll(() => app[Symbol.asyncDispose]())

/** Sends lines of a request head and a body, and returns the response. Unless a `Connection` is given, the server closes it afterwards. */
async function send(line: string, headers: string[], body = '') {
  const client = await RawClient.open(url)
  const close = headers.some((header) => /^connection:/i.test(header)) ? [] : ['Connection: close']
  return client.writeFirst(`${[line, ...headers, ...close].join('\r\n')}\r\n\r\n${body}`)
}

const errors = () => app.lines.filter((line) => /^\S+ (?:ERROR|WARNING)/.test(line))
const version = 'GET /api/v1/version HTTP/1.1'
const login = 'POST /api/auth/login HTTP/1.1'
const json = 'Content-Type: application/json'
const envelope = /\r\n\r\n(?:[\da-f]+\r\n)?\{"errors?":.*"code":"InvalidInput"/

it.each<[string, string, string[]]>([
  ['two Host headers', version, ['Host: a', 'Host: b']],
  ['the same Host twice', version, ['Host: a', 'HOST: a']],
  ['two Host headers in HTTP/1.0', 'GET /api/v1/version HTTP/1.0', ['Host: a', 'Host: b']],
  ['two Host headers for GraphQL', 'GET /graphql?query=x HTTP/1.1', ['Host: a', 'Host: b']],
  ['two Host headers for an unknown path', 'GET /api/nowhere HTTP/1.1', ['Host: a', 'Host: b']],
  ['two Host headers for the console', 'GET / HTTP/1.1', ['Host: a', 'Host: b']],
  ['a list of hosts', version, ['Host: a, b']],
  ['a host with a blank', version, ['Host: a b']],
  ['a host with a path', version, ['Host: a/b']],
  ['a host with a user', version, ['Host: user@a']],
  ['a host with an invalid port', version, ['Host: a:port']],
  ['two credentials', version, ['Host: a', 'Authorization: Bearer a', 'Authorization: Bearer b']],
  ['two content types', login, ['Host: a', json, 'content-type: text/plain', 'Content-Length: 2']],
  ['two lengths', login, ['Host: a', json, 'Content-Length: 2', 'Content-Length: 3']],
  ['the same length twice', login, ['Host: a', json, 'Content-Length: 2', 'Content-Length: 2']],
  ['a list of lengths', login, ['Host: a', json, 'Content-Length: 2, 2']],
  ['a length and a transfer coding', login, ['Host: a', json, 'Content-Length: 2', 'Transfer-Encoding: chunked']],
])('rejects %s with 400', async (_what, line, headers) => {
  const { text, status } = await send(line, headers, '{}')
  expect({ status, text }).toEqual({ status: 400, text: expect.stringMatching(envelope) })
  expect(errors()).toEqual([])
})

it.each(['a', 'a:80', 'A.example:', '[::1]:8080', '127.0.0.1', 'x_y-z.example', ''])('accepts the Host %s', async (host) => {
  expect((await send(version, [`Host: ${host}`])).status).toBe(200)
})

it('ignores the Host of a request with a complete URL (RFC 9112, section 3.2.2)', async () => {
  const { status, text } = await send('GET http://other.example/api/v1/version HTTP/1.1', ['Host: localhost'])
  expect([status, text.includes('other.example')]).toEqual([200, false])
})

const codings = [
  'xchunked',
  'chunkedx',
  'gzip',
  'gzip, chunked',
  'identity',
  'identity, chunked',
  'chunked, identity',
  'chunked, chunked',
  'x',
  '',
]
const types = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream', '']
const targets = ['PATCH /api/auth/profile', 'POST /graphql', 'POST /api/auth/avatar', 'POST /api/packages/versions/upload', 'POST /nowhere']

it.each(codings)('rejects the transfer coding "%s" on every kind of route without an error in the log', async (coding) => {
  const token = `Authorization: Bearer ${alice.secret}`
  for (const target of [...targets, 'GET /api/v1/version'])
    for (const type of types) {
      const headers = ['Host: a', token, ...(type ? [`Content-Type: ${type}`] : []), `Transfer-Encoding: ${coding}`]
      const { status, text } = await send(`${target} HTTP/1.1`, headers, '2\r\n{}\r\n0\r\n\r\n')
      expect({ target, type, status, text }).toEqual({ target, type, status: 400, text: expect.stringMatching(envelope) })
    }
  expect(errors()).toEqual([])
})

it('rejects chunks in HTTP/1.0 and accepts them in HTTP/1.1 in any case', async () => {
  const body = '2\r\n{}\r\n0\r\n\r\n'
  expect((await send('POST /api/auth/login HTTP/1.0', ['Host: a', json, 'Transfer-Encoding: chunked'], body)).status).toBe(400)
  expect((await send(login, ['Host: a', json, 'Transfer-Encoding: Chunked'], body)).text).toMatch(/"email: /)
})

it('logs no error for a body whose chunks are malformed or that ends early', async () => {
  const token = `Authorization: Bearer ${alice.secret}`
  for (const target of targets)
    for (const type of types)
      for (const body of ['zz\r\n{}\r\n', '2\r\n{}\r\nQQ\r\n', '10\r\n{']) {
        const client = await RawClient.open(url)
        const headers = ['Host: a', token, ...(type ? [`Content-Type: ${type}`] : []), 'Transfer-Encoding: chunked', 'Connection: close']
        client.socket.end(`${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
        await client.received
      }
  expect(errors()).toEqual([])
})

it.each([
  ['GET /api/v1/version', 'nonsense'],
  ['GET /api/v1/version', '100-continue, other'],
  ['POST /api/auth/login', 'nonsense'],
  ['POST /graphql', 'nonsense'],
  ['POST /nowhere', '200-ok'],
])('responds to %s with Expect: %s with 417 and the error envelope', async (line, expectation) => {
  const headers = ['Host: a', json, `Expect: ${expectation}`, 'Content-Length: 2']
  const { status, text } = await send(`${line} HTTP/1.1`, headers, '{}')
  expect({ status, text }).toEqual({ status: 417, text: expect.stringMatching(envelope) })
  const path = line.split(' ')[1]
  await expect.poll(() => app.lines.filter((entry) => entry.includes(` ${path} 417 `)).length).toBeGreaterThan(0)
})

it('closes the connection of CONNECT, ignores upgrades and keeps running', async () => {
  const connect = await RawClient.open(url)
  expect(await connect.writeFirst('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')).toMatchObject({ end: 'in order' })
  for (const [path, protocol] of [
    ['/api/v1/version', 'websocket'],
    ['/api/v1/version', 'h2c'],
    ['/graphql?query={health{version}}', 'websocket'],
  ]) {
    const headers = ['Host: a', 'Connection: Upgrade, close', `Upgrade: ${protocol}`, 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13']
    expect((await send(`GET ${path} HTTP/1.1`, headers)).status).toBe(200)
  }
  expect(errors()).toEqual([])
})
