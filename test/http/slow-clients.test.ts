import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { announce, publish } from '../support/publish.ts'
import { atSomeScale } from '../support/time-scale.ts'

/** Limits of tenths of seconds instead of seconds. */
const timingsAt = (scale: number) => ({
  headersMs: 400 * scale,
  silenceMs: 1500 * scale,
  requestMs: 2500 * scale,
  pace: { graceMs: 400 * scale, bytesPerSecond: 1024 / scale, sweepMs: 50 },
  discard: { maxBytes: 1_000_000, maxMs: 2500 * scale, silenceMs: 1500 * scale, lingerMs: 50 * scale },
})

type Client = { socket: Socket; text: () => string; closed: Promise<number> }

/** Opens a connection and sends `text`. `closed` resolves to its lifetime in milliseconds. */
async function open(app: TestApp, text = ''): Promise<Client> {
  const address = app.http.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
  const socket = connect(address.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let received = ''
  const began = performance.now()
  socket.on('data', (chunk) => (received += chunk.toString('latin1'))).on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now() - began)))
  await once(socket, 'connect')
  socket.write(text)
  return { socket, text: () => received, closed }
}

const head = (line: string, headers: Record<string, string | number> = {}) =>
  `${line} HTTP/1.1\r\nHost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** Sends `bytes` bytes every `everyMs` until the connection closes or `total` is reached. */
async function trickle({ socket }: Client, bytes: number, everyMs: number, total = Number.POSITIVE_INFINITY): Promise<void> {
  for (let sent = 0; sent < total && !socket.destroyed && socket.writable; sent += bytes) {
    socket.write('a'.repeat(bytes))
    await wait(everyMs)
  }
}

const timedOut = /^HTTP\/1\.1 408 .*\r\nConnection: close\r\n\r\n\{"error":\{"code":"InvalidInput","message":"[^"]+"\}\}$/s

it('closes connections without a request and with endless headers', () =>
  atSomeScale(async (scale) => {
    await using app = await testApp({ timings: timingsAt(scale) })
    await app.listen()
    const clients = await Promise.all(['', 'GET /api/v1/health HT', 'GET / HTTP/1.1\r\nHost: x\r\n'].map((text) => open(app, text)))
    void trickle(clients[2] as Client, 1, 100)
    for (const client of clients) await client.closed
    for (const client of clients.slice(1)) expect(client.text()).toMatch(timedOut)
  }))

it('times out slow bodies on every kind of route with an error', () =>
  atSomeScale(async (scale) => {
    await using app = await testApp({ timings: timingsAt(scale) })
    await app.listen()
    const alice = await app.member()
    const authorization = `Bearer ${alice.secret}`
    const json = { 'content-type': 'application/json' }
    const bytes = { authorization, 'content-type': 'application/octet-stream' }
    // Each body uses its own upload, because a second body for the same upload would be refused.
    const upload = async () => `POST /api/packages/versions/upload?upload_id=${await announce(alice)}`
    const requests = [
      head('POST /api/auth/login', { ...json, 'content-length': 5000 }),
      head('POST /graphql', { ...json, 'content-length': 5000 }),
      head(await upload(), { ...bytes, 'content-length': 5000 }),
      `${head(await upload(), { ...bytes, 'transfer-encoding': 'chunked' })}400\r\n`,
    ]
    const clients = await Promise.all(requests.map((text) => open(app, text)))
    for (const client of clients) void trickle(client, 1, 100)
    for (const client of clients) {
      await client.closed
      expect(client.text()).toMatch(timedOut)
    }
    await expect.poll(() => app.lines.filter((line) => / POST \/api\/auth\/login 408 \d+ms 127\.0\.0\.1 /.test(line))).toHaveLength(1)
    // The answer was already sent. The rest of the body must not keep the connection open.
    const refused = await open(app, head('POST /api/v1/health', { ...json, 'content-length': 5000 }))
    void trickle(refused, 1, 100)
    await refused.closed
    expect(refused.text()).toMatch(/^HTTP\/1\.1 405 /)
  }))

it('accepts a slow but steady body within the time limit of a request', () =>
  atSomeScale(async (scale) => {
    await using app = await testApp({ timings: { ...timingsAt(scale), silenceMs: 10_000 * scale } })
    await app.listen()
    const [before, after] = ['{"query": "{ server { version } }", "extensions": {"unread": "', '"}}']
    await app.anonymous.post('/graphql', `${before}${after}`, { headers: { 'content-type': 'application/json' } }) // Loads lazily loaded modules.
    const length = before.length + 6000 + after.length
    const steady = await open(app, head('POST /graphql', { 'content-type': 'application/json', 'content-length': length }) + before)
    await trickle(steady, 300, 75 * scale, 6000)
    steady.socket.write(after)
    await expect.poll(steady.text).toMatch(/^HTTP\/1\.1 200 .*"version"/s)
    steady.socket.destroy()
    const endless = await open(app, head('POST /graphql', { 'content-type': 'application/json', 'content-length': 100_000 }))
    void trickle(endless, 300, 75 * scale)
    expect(await endless.closed).toBeGreaterThan(2000 * scale)
    expect(endless.text()).toMatch(timedOut)
  }))

it('closes connections of clients that stop reading the response', () =>
  atSomeScale(async (scale) => {
    await using app = await testApp({ timings: timingsAt(scale) })
    await app.listen()
    const alice = await app.member()
    const files = { 'assets/noise.bin': randomBytes(16_000_000) }
    await publish(alice, { name: 'large', version: '1.0.0', files })
    const ask = head('GET /api/archives/large-1.0.0.tar.gz', { authorization: `Bearer ${alice.secret}` })
    const [reader, other] = [await open(app, ask), await open(app, ask)]
    reader.socket.pause()
    const count = () => new Promise<number>((resolve) => app.http.server.getConnections((_error, open) => resolve(open)))
    await expect.poll(() => other.text().length).toBeGreaterThan(16_000_000)
    other.socket.destroy()
    await expect.poll(count, { timeout: 10_000 * scale }).toBe(0)
  }))

it('closes stalled connections soon, whatever the size of the response, but not slow and steady ones', () =>
  atSomeScale(async (scale) => {
    // Sending the archive at the minimum rate takes 16 seconds. No other limit may end the response.
    const pace = { graceMs: 1500 * scale, bytesPerSecond: 1024 ** 2 / scale, sweepMs: 50 }
    await using app = await testApp({ timings: { ...timingsAt(scale), silenceMs: 600_000, pace } })
    await app.listen()
    const alice = await app.member()
    await publish(alice, { name: 'large', version: '1.0.0', files: { 'assets/noise.bin': randomBytes(16_000_000) } })
    const ask = head('GET /api/archives/large-1.0.0.tar.gz', { authorization: `Bearer ${alice.secret}` })
    const readers = await Promise.all([ask, ask.repeat(10)].map((text) => open(app, text)))
    for (const { socket } of readers) socket.pause()
    const steady = await open(app, ask)
    const isTaken = readSlowly(steady, 1024 ** 2 / scale, 250)
    const count = () => new Promise<number>((resolve) => app.http.server.getConnections((_error, open) => resolve(open)))
    await expect.poll(count, { timeout: 7000 * scale }).toBe(1)
    expect(await isTaken).toBeGreaterThan(16_000_000)
    steady.socket.destroy()
  }))

/** Reads about `bytes` bytes every `everyMs` and returns the total once no more arrive. */
async function readSlowly({ socket, text }: Client, bytes: number, everyMs: number): Promise<number> {
  for (let before = -1; before !== text().length;) {
    before = text().length
    socket.resume()
    await expect.poll(() => text().length >= before + bytes || text().length > 16_000_000, { interval: 5 }).toBe(true)
    socket.pause()
    await wait(everyMs)
    if (text().length > 16_000_000) break
  }
  return text().length
}

it('refuses connections above the limit per address and accepts new ones once others close', async () => {
  await using app = await testApp({ env: { MAX_CONNECTIONS_PER_ADDRESS: '5', TRUST_PROXY: 'false' } })
  await app.listen()
  const clients = await Promise.all(Array.from({ length: 5 }, () => open(app)))
  await wait(50)
  const refused = await Promise.all(Array.from({ length: 20 }, () => open(app)))
  for (const client of refused) {
    await client.closed
    expect(client.text()).toMatch(/^HTTP\/1\.1 429 .*\r\nRetry-After: 10\r\n.*"code":"RateLimitExceeded"/s)
  }
  expect(app.lines.filter((line) => line.includes('MAX_CONNECTIONS_PER_ADDRESS'))).toHaveLength(1)
  clients[0]?.socket.destroy()
  await wait(50)
  const next = await open(app, head('GET /api/v1/version'))
  await expect.poll(next.text).toMatch(/^HTTP\/1\.1 200 /)
  for (const { socket } of [...clients, next]) socket.destroy()
})

it('does not count connections of trusted proxies, or any when the limit is 0', async () => {
  const settings: Record<string, string>[] = [
    { MAX_CONNECTIONS_PER_ADDRESS: '2' },
    { MAX_CONNECTIONS_PER_ADDRESS: '0', TRUST_PROXY: 'false' },
  ]
  for (const env of settings) {
    await using app = await testApp({ env })
    await app.listen()
    const opened: Client[] = []
    for (let times = 0; times < 6; times++) {
      const client = await open(app, head('GET /api/v1/version'))
      await expect.poll(client.text).toMatch(/^HTTP\/1\.1 200 /)
      opened.push(client)
    }
    for (const { socket } of opened) socket.destroy()
  }
})
