import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { folderForTest, json, ownersToken, publishTo, start } from '../support/server-process.ts'

const filesBelow = (folder: string) => readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())

it('lists every problem of an invalid configuration and exits with 78', async () => {
  const server = await start(folderForTest(), { JWT_SECRET: 'short', LOG_LEVEL: 'loud' })
  expect(await server.exit).toBe(78)
  expect(server.log()).toMatch(/^JWT_SECRET: .*\nLOG_LEVEL: .*\n$/)
})

it('warns about misspelled variables at the start without logging their values', async () => {
  const server = await start(folderForTest(), { SIGN_UP_ENABLED: 'true', SNUG_JWT_SECRET: 'not for the log' })
  expect(server.log()).toMatch(/ WARNING SNUG_JWT_SECRET is not a setting and is ignored\. Did you mean JWT_SECRET\?\n/)
  expect(server.log()).toMatch(/ WARNING SIGN_UP_ENABLED is not a setting and is ignored\. Did you mean SIGNUP_ENABLED\?\n/)
  expect(server.log()).not.toContain('not for the log')
})

it('warns about a weak secret and a low password hashing cost, but starts', async () => {
  const server = await start(folderForTest(), { JWT_SECRET: 'x'.repeat(32), BCRYPT_COST: '4' })
  expect((await fetch(`${server.url}/api/v1/health`)).status).toBe(200)
  expect(server.log()).toMatch(/ WARNING JWT_SECRET is easy to guess /)
  expect(server.log()).toMatch(/ WARNING BCRYPT_COST is 4: /)
  expect(server.log()).not.toContain('xxxx')
})

it('names the setting when its port is taken', async () => {
  const taken = createServer().listen(0)
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const server = await start(folderForTest(), { LISTEN_PORT: String(port) })
  expect(await server.exit).toBe(1)
  expect(server.log()).toContain(`LISTEN_PORT: another program uses port ${port} already. Stop it, or choose another port.\n`)
})

it('exits with 78, which stops restarts, for a HOST address of another machine and a database of a newer version', async () => {
  const folder = folderForTest()
  const elsewhere = await start(folder, { HOST: '192.0.2.1' })
  expect(await elsewhere.exit).toBe(78)
  expect(elsewhere.log()).toContain('HOST: this machine has no address 192.0.2.1. Use 0.0.0.0 for all of its addresses')
  const database = new DatabaseSync(join(folder, 'registry.sqlite'))
  database.exec("insert into schema_migrations (name) values ('Migration99999999000000_later')")
  database.close()
  const older = await start(folder)
  expect(await older.exit).toBe(78)
  expect(older.log()).toMatch(/The database was written by a newer version.*Start the newer version, or restore a backup/)
})

it('stops cleanly on SIGTERM, and starts again on the same data', async () => {
  const folder = folderForTest()
  const first = await start(folder)
  const secret = await ownersToken(first)
  first.process.kill('SIGTERM')
  expect(await first.exit).toBe(0)
  const second = await start(folder)
  expect(second.log()).not.toContain('Setup code')
  expect(await json(`${second.url}/api/auth/me`, undefined, { authorization: `Bearer ${secret}` })).toMatchObject({
    status: 200,
    body: { role: 'owner' },
  })
})

it("serves REST and GraphQL without loading Node's fetch, which slows down the start", async () => {
  const folder = folderForTest()
  const printModules = join(folder, 'print-modules.mjs')
  writeFileSync(printModules, "process.on('exit', () => console.log(`Loaded: ${process.moduleLoadList.join(', ')}.`))")
  const server = await start(folder, { NODE_OPTIONS: `--import=${printModules}` })
  expect(await json(`${server.url}/graphql`, { query: '{ __typename }' })).toMatchObject({ status: 200 })
  expect(await json(`${server.url}/api/v1/health`)).toMatchObject({ status: 200 })
  server.process.kill('SIGTERM')
  expect(await server.exit).toBe(0)
  const [, loaded] = /^Loaded: (.*)\.$/m.exec(server.log()) ?? []
  expect(loaded).toContain('NativeModule http,')
  expect(loaded).not.toContain('undici')
})

it('finishes a download after SIGTERM, then exits although its connection is kept alive', async () => {
  const server = await start(folderForTest())
  const authorization = `Bearer ${await ownersToken(server)}`
  const files = { 'assets/noise.bin': randomBytes(16_000_000) }
  await publishTo(server, authorization, await packageArchive({ name: 'large', version: '1.0.0', files }))
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.write(`GET /api/archives/large-1.0.0.tar.gz HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  const length = Number(/content-length: (\d+)/i.exec(first.toString('latin1'))?.[1])
  server.process.kill('SIGTERM')
  await expect.poll(() => server.log()).toContain('SIGTERM: stopping')
  let received = first.length - first.indexOf('\r\n\r\n') - 4
  socket.on('data', (chunk: Buffer) => (received += chunk.length))
  socket.resume()
  expect(await server.exit).toBe(0)
  expect(received).toBe(length)
})

it('locks its data against a second process, and releases the lock when it is killed', async () => {
  const folder = folderForTest()
  const first = await start(folder)
  const refused = await start(folder)
  expect(await refused.exit).toBe(1)
  expect(refused.log()).toContain('held by another process')
  first.process.kill('SIGKILL')
  await first.exit
  expect((await json(`${(await start(folder)).url}/api/v1/health`)).body.status).toBe('ok')
})

it('does not show an upload that a power cut interrupted, and accepts it again afterwards', async () => {
  const folder = folderForTest()
  const first = await start(folder)
  const authorization = `Bearer ${await ownersToken(first)}`
  const archive = await packageArchive({
    name: 'halfway',
    version: '1.0.0',
    files: { 'lib/large.bin': Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 251)) },
  })
  const { body } = await json(`${first.url}/api/packages/versions/new`, undefined, { authorization })
  // Sends half of the bytes and then stalls, so that the server is killed while it writes.
  const half = new ReadableStream({ start: (controller) => controller.enqueue(archive.subarray(0, archive.length / 2)) })
  const sending = fetch(`${body.url}?upload_id=${body.fields.upload_id}`, {
    method: 'POST',
    body: half,
    duplex: 'half',
    headers: { authorization, 'content-type': 'application/octet-stream' },
  } as RequestInit).catch(() => 'cut')
  await expect.poll(() => filesBelow(join(folder, 'blobs', 'staging')).length).toBeGreaterThan(0)
  first.process.kill('SIGKILL')
  expect(await sending).toBe('cut')
  const second = await start(folder)
  expect(await json(`${second.url}/api/packages/halfway`, undefined, { authorization })).toMatchObject({ status: 404 })
  await publishTo(second, authorization, archive)
  expect((await json(`${second.url}/api/packages/halfway`, undefined, { authorization })).body.versions).toHaveLength(1)
})

it('resumes and completes a job that a power cut interrupted', async () => {
  const folder = folderForTest()
  const first = await start(folder)
  const authorization = `Bearer ${await ownersToken(first)}`
  const ask = async (url: string, query: string) => (await json(`${url}/graphql`, { query }, { authorization })).body.data
  const archive = await packageArchive({ name: 'acme', version: '1.0.0' })
  await publishTo(first, authorization, archive)
  // Reading a FIFO without a writer blocks forever, so the job cannot finish.
  const [stored] = filesBelow(join(folder, 'blobs', 'sha256'))
  const path = join(stored?.parentPath ?? '', stored?.name ?? '')
  rmSync(path)
  execFileSync('mkfifo', [path])
  await ask(first.url, 'mutation { checkIntegrity }')
  const jobs = '{ jobs(first: 10) { nodes { kind state attempts } } }'
  await expect
    .poll(() => ask(first.url, jobs), { timeout: 10_000 })
    .toEqual({
      jobs: { nodes: [{ kind: 'integrity.check', state: 'RUNNING', attempts: 1 }] },
    })
  first.process.kill('SIGKILL')
  await first.exit
  rmSync(path)
  writeFileSync(path, archive)
  const second = await start(folder)
  await expect
    .poll(() => ask(second.url, jobs), { timeout: 10_000 })
    .toEqual({
      jobs: { nodes: [{ kind: 'integrity.check', state: 'DONE', attempts: 2 }] },
    })
  const report = await ask(second.url, '{ integrityReport { archives missing damaged orphans } }')
  expect(report).toEqual({ integrityReport: { archives: 1, missing: 0, damaged: 0, orphans: 0 } })
})
