import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { createDatabase } from '../support/postgres.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'
import { beginRequest, fragments, openSocket } from '../support/silent-clients.ts'

const drainSeconds = 2.5
const drain = { DRAIN_TIMEOUT_MS: String(drainSeconds * 1000) }

/** Sends SIGTERM. Returns the exit code and the number of seconds until the exit. */
async function stop(server: Server) {
  const began = performance.now()
  server.process.kill('SIGTERM')
  const code = await server.exit
  return { code, seconds: (performance.now() - began) / 1000 }
}

/** Sends requests one after another over a keep-alive connection until one fails. `sawClose`: a response had `Connection: close`. */
async function sendUntilRejected(
  url: string,
  onProgress: (answers: number) => void,
): Promise<{ answers: number; sawClose: boolean; end: string }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let sawClose = false
  for (let answers = 0; ; answers++) {
    onProgress(answers)
    const end = await new Promise<string | null>((resolve) => {
      request(url, { agent }, (response) => {
        if (response.headers.connection === 'close') sawClose = true
        response.resume()
        response.on('end', () => resolve(null))
        response.on('error', (error) => resolve(error.message))
      })
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        .end()
    })
    if (end !== null) return { answers, sawClose, end }
  }
}

it('asks every sending client to close its connection before refusing new ones, and resets none', async () => {
  const server = await start(folderForTest(), drain)
  await ownersToken(server)
  const heard = Array.from({ length: 60 }, () => 0)
  const clients = heard.map((_, index) =>
    sendUntilRejected(`${server.url}${index % 2 ? '/api/v1/health' : '/api/v1/version'}`, (answers) => (heard[index] = answers)),
  )
  await expect.poll(() => Math.min(...heard), { timeout: 90_000 }).toBeGreaterThan(1)
  const { code, seconds } = await stop(server)
  expect(code).toBe(0)
  expect(seconds).toBeLessThan(drainSeconds)
  const ends = await Promise.all(clients)
  expect(ends.filter(({ answers }) => answers < 2)).toEqual([])
  expect(Object.groupBy(ends, ({ sawClose, end }) => `${sawClose ? 'close' : 'no close'}, ${end}`)).toEqual({ 'close, ECONNREFUSED': ends })
})

it('does not wait for idle connections, and waits for incomplete bodies only until the drain timeout', async () => {
  const server = await start(folderForTest(), drain)
  for (const text of fragments) await openSocket(server.url, text)
  const idle = await openSocket(server.url, 'GET /api/v1/version HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const first = await stop(server)
  expect(first).toMatchObject({ code: 0 })
  expect(first.seconds).toBeLessThan(3)

  const other = await start(folderForTest(), drain)
  const authorization = `Bearer ${await ownersToken(other)}`
  const headers = { 'content-type': 'application/json', 'content-length': '99' }
  await beginRequest(other.url, 'POST /api/auth/login', { authorization, ...headers })
  const second = await stop(other)
  expect(second).toMatchObject({ code: 0 })
  expect(second.seconds).toBeLessThan(drainSeconds + 0.5)
  expect(other.log()).toContain('WARNING stopping: requests that did not finish in time and were aborted: 1')
})

it('reports not ready but keeps serving during the drain delay, then exits', async () => {
  const server = await start(folderForTest(), { ...drain, DRAIN_DELAY_MS: '1500' })
  expect(await json(`${server.url}/readyz`)).toMatchObject({ status: 200 })
  const stopped = stop(server)
  await expect.poll(async () => (await json(`${server.url}/readyz`)).status).toBe(503)
  expect(await json(`${server.url}/livez`)).toMatchObject({ status: 200 })
  expect(await json(`${server.url}/api/v1/version`)).toMatchObject({ status: 200 })
  expect(await stopped).toMatchObject({ code: 0 })
})

it('exits with code 0 although the storage hangs', async () => {
  const folder = folderForTest()
  const server = await start(folder, drain)
  const authorization = `Bearer ${await ownersToken(server)}`
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  const stored = readdirSync(join(folder, 'blobs', 'sha256'), { recursive: true, withFileTypes: true }).find((entry) => entry.isFile())
  const path = join(stored?.parentPath ?? '', stored?.name ?? '')
  // Reading a FIFO without a writer blocks forever.
  rmSync(path)
  execFileSync('mkfifo', [path])
  await beginRequest(server.url, 'GET /api/archives/acme-1.0.0.tar.gz', { authorization })
  const { code, seconds } = await stop(server)
  expect(code).toBe(0)
  expect(seconds).toBeLessThan(drainSeconds + 1)
  expect(server.log()).toContain('did not finish in time')
})

it('exits with code 0 although the database hangs', async () => {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  const server = await start(folderForTest(), { ...drain, DB_BACKEND: 'postgres', POSTGRES_URL: database.url })
  const authorization = `Bearer ${await ownersToken(server)}`
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin')
  await holder.query('lock table access_tokens, jobs, users in access exclusive mode')
  await beginRequest(server.url, 'GET /api/auth/me', { authorization })
  const { code, seconds } = await stop(server)
  expect(code).toBe(0)
  expect(seconds).toBeLessThan(drainSeconds + 1)
})
