import { expect, it } from 'vitest'
import { timingsFor } from '../../server/platform/http/connections/pace.ts'
import type { DiscardBounds } from '../../server/platform/http/discard.ts'
import { testApp, type TestApp } from '../app.ts'
import { head, RawClient } from '../support/raw-client.ts'

/** Limits that no test reaches. Each test lowers the limit that it covers. */
const generous: DiscardBounds = { maxBytes: 2 ** 40, maxMs: 600_000, silenceMs: 600_000, lingerMs: 1000 }
const bounded = (bounds: Partial<DiscardBounds>): Promise<TestApp> =>
  testApp({ timings: { ...timingsFor(1000), discard: { ...generous, ...bounds } } })

const chunked = head('POST /api/nowhere', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
const announcing = (length: number) => head('POST /api/nowhere', { 'content-type': 'application/json', 'content-length': length })

/** Opens a connection and sends the headers of a request that is refused. The client may still send the body. */
async function refused(app: TestApp, request = chunked): Promise<RawClient> {
  const client = await RawClient.open(addressOf(app))
  client.socket.write(request)
  await expect.poll(() => client.text).toMatch(/^HTTP\/1\.1 404 /)
  return client
}

function addressOf({ http }: TestApp): string {
  const address = http.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
  return `http://127.0.0.1:${address.port}`
}

it('closes the connection of a body that exceeds the byte limit', async () => {
  await using app = await bounded({ maxBytes: 1_000_000 })
  await app.listen()
  const client = await refused(app)
  const taken = await client.writeForever()
  expect(await client.received).toMatchObject({ status: 404, end: 'in order' })
  expect(taken).toBeGreaterThan(900_000)
})

it('reads nothing of a body whose Content-Length exceeds the byte limit', async () => {
  await using app = await bounded({ maxBytes: 1_000_000 })
  await app.listen()
  expect(await (await refused(app, announcing(1_000_001))).received).toMatchObject({ status: 404, end: 'in order' })
  const client = await refused(app, announcing(1_000_000))
  client.socket.write('a'.repeat(1_000_000))
  expect(await client.received).toMatchObject({ status: 404, end: 'in order' })
})

it('closes the connection of a body that exceeds the time limit', async () => {
  await using app = await bounded({ maxMs: 200 })
  await app.listen()
  const client = await refused(app)
  const dripping = setInterval(() => client.socket.write('1\r\na\r\n'), 20)
  expect(await client.received).toMatchObject({ status: 404, end: 'in order' })
  clearInterval(dripping)
})

it('closes the connection of a client that stops sending', async () => {
  await using app = await bounded({ silenceMs: 200 })
  await app.listen()
  for (const request of [chunked, announcing(100_000), announcing(1000)])
    expect(await (await refused(app, request)).received).toMatchObject({ status: 404, end: 'in order' })
})

it('closes a connection whose client keeps sending after the server closed its side', async () => {
  await using app = await bounded({ silenceMs: 100 })
  await app.listen()
  const client = await refused(app)
  await client.received
  await expect
    .poll(() => {
      client.socket.write('1\r\na\r\n')
      return client.socket.destroyed
    })
    .toBe(true)
})

it('logs only the response when the client disconnects after it or sends a malformed rest', async () => {
  await using app = await bounded({})
  await app.listen()
  ;(await refused(app)).socket.end()
  ;(await refused(app)).socket.destroy()
  const malformed = await refused(app)
  malformed.socket.write('no chunk\r\n')
  expect(await malformed.received).toMatchObject({ text: expect.not.stringContaining(' 400 '), end: 'in order' })
  await expect.poll(() => new Promise((resolve) => app.http.server.getConnections((_error, count) => resolve(count)))).toBe(0)
  expect(app.lines.filter((line) => /malformed|ERROR| 499 /.test(line))).toEqual([])
  expect(app.lines.filter((line) => line.includes('POST /api/nowhere 404 '))).toHaveLength(3)
})

it('does not delay a graceful stop', async () => {
  await using app = await bounded({})
  await app.listen()
  const clients = await Promise.all([refused(app), refused(app)])
  const writing = clients.map((client) => client.writeForever())
  expect(await app.http.drain(50_000, 50)).toBe(0)
  await Promise.all(writing)
})
