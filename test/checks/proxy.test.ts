import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { doctorHeader, doctorPath, proofsFor, sampleBytes } from '../../server/operations/checks/doctor/answer.ts'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { readStoreId } from '../../server/platform/store/identity.ts'
import { type TestApp, testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { freePort } from '../support/free-port.ts'
import { startProxy } from '../support/proxy.ts'

/** Runs the doctor with this SERVER_URL and returns the exit code and a lookup of checks by name. */
async function runDoctor(app: TestApp, url: string, more: Record<string, string> = {}) {
  const environment = { ...environmentOf(app), SERVER_URL: url, LISTEN_PORT: String(await freePort()), ...more }
  const { code, out } = await runCommand(environment, 'doctor', '--quick', '--json')
  const { checks } = JSON.parse(out) as { checks: Check[] }
  return { code, find: (wanted: string) => checks.find(({ name }) => name === wanted) }
}

const idOf = async ({ services }: TestApp) => (await readStoreId(services.database.fork())) ?? ''

it('finds a proxy missing from TRUST_PROXY and names its address', async () => {
  await using app = await testApp({ env: { TRUST_PROXY: '10.9.0.0/16' } })
  const proxy = await startProxy(await app.listen())
  const { find } = await runDoctor(app, proxy, { TRUST_PROXY: '10.9.0.0/16' })
  expect(find('proxy')).toEqual({
    name: 'proxy',
    status: 'warning',
    message:
      "The proxy has the address 127.0.0.1, which TRUST_PROXY=10.9.0.0/16 does not include: all clients appear to have the proxy's address and share its rate limits.",
    advice: 'Set TRUST_PROXY=127.0.0.1, or TRUST_PROXY=true.',
  })
})

it('finds a proxy without X-Forwarded-For and accepts a correct one', async () => {
  await using app = await testApp()
  const own = await app.listen()
  const silent = await runDoctor(app, await startProxy(own, { forwards: false }), { TRUST_PROXY: 'true' })
  expect(silent.find('proxy')).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(/^The proxy 127\.0\.0\.1 does not send X-Forwarded-For: all clients/),
  })
  const good = await runDoctor(app, await startProxy(own), { TRUST_PROXY: 'true' })
  expect(good.find('proxy')).toMatchObject({
    status: 'ok',
    message: expect.stringContaining('forwards client addresses, and TRUST_PROXY=true trusts the proxy'),
  })
  expect(good.find('upload size')).toMatchObject({ status: 'ok', message: 'A request of 5 MB reaches the server.' })
  const ignored = await runDoctor(app, await startProxy(own), { TRUST_PROXY: 'false' })
  expect(ignored.find('proxy')).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('There is a proxy, but TRUST_PROXY=false'),
  })
})

it.each(['true', 'false', '127.0.0.1'])('warns about a proxy that adds no headers, with TRUST_PROXY=%s', async (trust) => {
  await using app = await testApp()
  const own = await app.listen()
  const hidden = await startProxy(own, { forwards: false, name: null })
  const { find } = await runDoctor(app, hidden, { TRUST_PROXY: trust })
  expect(find('proxy')).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(
      /^Requests to http:\/\/127\.0\.0\.1:\d+ reach the server on port \d+ from 127\.0\.0\.1, without X-Forwarded-For\./,
    ),
    advice: expect.stringContaining('Ignore this if only a port is forwarded'),
  })
  const direct = await runDoctor(app, own, { TRUST_PROXY: 'false', LISTEN_PORT: new URL(own).port })
  expect(direct.find('proxy')).toMatchObject({ status: 'ok' })
})

it('finds a proxy that refuses a request of 5 MB', async () => {
  await using app = await testApp()
  const proxy = await startProxy(await app.listen(), { largestBody: 1_048_576, name: 'nginx' })
  const { code, find } = await runDoctor(app, proxy, { TRUST_PROXY: 'true' })
  expect([code, find('upload size')]).toMatchObject([
    1,
    {
      status: 'failed',
      message: expect.stringMatching(/^A request of 5 MB does not reach the server: /),
      advice: expect.stringContaining('client_max_body_size'),
    },
  ])
  const small = await runDoctor(app, proxy, { TRUST_PROXY: 'true', MAX_UPLOAD_BYTES: '1000000' })
  expect(small.find('upload size')).toMatchObject({ status: 'ok', message: 'A request of 1 MB reaches the server.' })
})

it('finds a SERVER_URL that leads to another registry', async () => {
  await using app = await testApp({ alone: true })
  await using other = await testApp({ alone: true })
  const { code, find } = await runDoctor(app, await other.listen())
  expect([code, find('registry')]).toMatchObject([
    1,
    {
      status: 'failed',
      message: expect.stringContaining('belongs to another registry: the server there uses a different database'),
    },
  ])
  expect((await runDoctor(app, await app.listen())).find('registry')).toBeUndefined()
})

it('reveals nothing to callers that do not know the database id', async () => {
  await using app = await testApp()
  const [id, nonce] = [await idOf(app), randomBytes(32).toString('base64url')]
  const { question, answer } = proofsFor(id, nonce)
  const headers = { 'content-type': 'application/octet-stream' }
  const ask = (proof: string) => app.anonymous.post(doctorPath, Buffer.from('x'), { headers: { ...headers, [doctorHeader]: proof } })
  const unknown = await app.anonymous.post('/api/v1/nowhere', {})
  const wrong = proofsFor('00000000-0000-4000-8000-000000000000', nonce).question
  for (const proof of [
    '',
    'x',
    nonce,
    `${nonce}.`,
    `${nonce}.${wrong}`,
    `${nonce}.${answer}`,
    `${nonce}x.${question}`,
    `${nonce}.${question}0`,
    id,
  ])
    expect([proof, await ask(proof)]).toMatchObject([proof, { status: 404, body: unknown.body }])
  const known = await ask(`${nonce}.${question}`)
  expect(known).toMatchObject({ status: 200, body: { proof: answer, isTrusted: expect.any(Boolean), isForwarded: false, bytes: 1 } })
  expect(JSON.stringify([known.body, app.lines])).not.toContain(id)
  expect((await app.anonymous.get(doctorPath, { headers: { [doctorHeader]: `${nonce}.${question}` } })).status).toBe(404)
})

it('reads no more of a body than the doctor sends', async () => {
  await using app = await testApp()
  const nonce = randomBytes(32).toString('base64url')
  const proof = `${nonce}.${proofsFor(await idOf(app), nonce).question}`
  const headers = { 'content-type': 'application/octet-stream', [doctorHeader]: proof }
  expect(await app.anonymous.post(doctorPath, Buffer.alloc(sampleBytes), { headers })).toMatchObject({
    status: 200,
    body: { bytes: sampleBytes },
  })
  expect(await app.anonymous.post(doctorPath, Buffer.alloc(sampleBytes + 1), { headers })).toMatchObject({
    status: 413,
    headers: { connection: 'close' },
    body: { error: { code: 'InvalidInput' } },
  })
  // A body without Content-Length.
  let sent = 0
  const endless = new ReadableStream({
    pull(controller) {
      sent += 100_000
      if (sent < 20 * sampleBytes) controller.enqueue(new Uint8Array(100_000))
      else controller.close()
    },
  })
  const request = { method: 'POST', headers, body: endless, duplex: 'half' } as RequestInit
  const ended = await fetch(`${await app.listen()}${doctorPath}`, request).then(
    ({ status }) => status,
    () => 'closed',
  )
  expect([413, 'closed']).toContain(ended)
  expect(sent).toBeLessThan(20 * sampleBytes)
})
