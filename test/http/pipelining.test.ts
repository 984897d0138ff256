import Fastify, { type FastifyInstance } from 'fastify'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { enforceMinimumRate } from '../../server/platform/http/connections/pace.ts'
import { limitPipelining } from '../../server/platform/http/connections/limits.ts'
import { watchSockets } from '../../server/platform/http/connections/sockets.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

type Client = Disposable & { socket: Socket; bytes: () => number; text: () => string }

/** Opens a connection that is destroyed when the test ends. Otherwise the server would wait for it. */
async function open(http: FastifyInstance): Promise<Client> {
  const address = http.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
  const socket = connect(address.port, '127.0.0.1')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk)).on('error', () => {})
  await once(socket, 'connect')
  return {
    socket,
    [Symbol.dispose]: () => void socket.destroy(),
    bytes: () => received.reduce((sum, { length }) => sum + length, 0),
    text: () => Buffer.concat(received).toString('latin1'),
  }
}

function post(index: number): string {
  const body = JSON.stringify({ query: `{ a${index}: __typename }`, extensions: { unread: 'x'.repeat(3000) } })
  return `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

it('processes few pipelined requests until the client reads the answers', async () => {
  await using app = await testApp({ alone: true })
  await app.listen()
  const alice = await app.member()
  await publish(alice, { name: 'large', version: '1.0.0', files: { 'assets/noise.bin': randomBytes(4_000_000) } })
  const path = '/api/archives/large-1.0.0.tar.gz'
  await alice.get(path)
  using client = await open(app.http)
  const { socket, bytes } = client
  socket.pause()
  const lookUps = () => app.queries.filter((sql) => sql.includes('archive_sha256')).length
  const before = lookUps()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.secret}\r\n\r\n`.repeat(40))
  await expect.poll(() => lookUps() - before).toBeGreaterThanOrEqual(10)
  await wait(300)
  expect(lookUps() - before).toBeLessThanOrEqual(14)
  socket.resume()
  await expect.poll(bytes).toBeGreaterThan(40 * 4_000_000)
})

it('logs 499 for requests that the client abandons, including queued ones', async () => {
  await using app = await testApp()
  await app.listen()
  const alice = await app.member()
  await publish(alice, { name: 'large', version: '1.0.0', files: { 'assets/noise.bin': randomBytes(12_000_000) } })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.secret}\r\n\r\n`
  using client = await open(app.http)
  client.socket.pause()
  client.socket.write(get('/api/archives/large-1.0.0.tar.gz') + get('/api/auth/me'))
  const left = () => app.lines.flatMap((line) => / GET (\S+) 499 \d+ms /.exec(line)?.[1] ?? [])
  await expect.poll(() => app.queries.some((sql) => sql.includes('archive_sha256'))).toBe(true)
  await wait(100)
  expect(left()).toEqual([])
  client.socket.destroy()
  await expect.poll(() => left().toSorted()).toEqual(['/api/archives/large-1.0.0.tar.gz', '/api/auth/me'])
})

it('answers pipelined requests with bodies in order and keeps the connection', async () => {
  await using app = await testApp()
  await app.listen()
  using client = await open(app.http)
  const { socket, text } = client
  socket.write(Array.from({ length: 100 }, (_, index) => post(index)).join(''))
  const answered = () => [...text().matchAll(/"a(\d+)":"Query"/g)].map(([, index]) => Number(index))
  await expect.poll(answered).toEqual(Array.from({ length: 100 }, (_, index) => index))
  socket.write(post(100))
  await expect.poll(() => answered().at(-1)).toBe(100)
})

it('does not count the wait for earlier pipelined requests as a slow body', async () => {
  const http = Fastify()
  onTestFinished(() => http.close())
  onTestFinished(enforceMinimumRate(watchSockets(http.server).open, { graceMs: 50, bytesPerSecond: 1e6, sweepMs: 10 }))
  limitPipelining(http)
  const work = Promise.withResolvers<string>()
  http.get('/', () => work.promise)
  http.post('/graphql', () => 'arrived')
  await http.listen()
  using client = await open(http)
  const { socket, text } = client
  const [head, body] = [post(0).slice(0, -1000), post(0).slice(-1000)]
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10) + head)
  await wait(200)
  expect(text()).toBe('')
  work.resolve('done')
  socket.write(body)
  await expect.poll(text).toMatch(/^(HTTP\/1\.1 200 .*?done){10}HTTP\/1\.1 200 .*arrived$/s)
})

it('starts no further requests of a disconnected client', async () => {
  const http = Fastify()
  onTestFinished(() => http.close())
  limitPipelining(http)
  let begun = 0
  const work = Promise.withResolvers<string>()
  http.get('/', () => (begun++, work.promise))
  await http.listen()
  using client = await open(http)
  const { socket } = client
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(30))
  await expect.poll(() => begun).toBe(10)
  socket.destroy()
  await wait(50)
  work.resolve('done')
  await wait(50)
  // A socket that is not read reports its closing only on a write.
  expect(begun).toBeLessThanOrEqual(12)
})

it('answers pending requests before it stops, then closes the connection', async () => {
  await using app = await testApp()
  await app.listen()
  using client = await open(app.http)
  const { socket, text } = client
  const closed = once(socket, 'close')
  socket.write(Array.from({ length: 50 }, (_, index) => post(index)).join(''))
  await expect.poll(text).toMatch(/^HTTP\/1\.1 200 /)
  expect(await app.http.drain(5000, 100)).toBe(0)
  await closed
  expect(text()).not.toMatch(/^HTTP\/1\.1 [^2]/m)
})
