import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { mirrorFiles } from '../../server/registry/mirror/entries.ts'
import { type TestApp, testApp } from '../app.ts'
import { admin, adminJson, environmentOf, runCommand } from '../support/admin.ts'
import { lockText } from '../support/lock-text.ts'
import { failWith } from '../support/upstream-faults.ts'
import { publishOwn } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'

async function start() {
  const upstream = await Upstream.start()
  const app = await testApp({ env: { UPSTREAM_URL: upstream.url } })
  return { upstream, app, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

/** Writes a lock file that names these packages and returns its path. */
async function locked(app: TestApp, upstream: Upstream, packages: Parameters<typeof lockText>[1], name = 'pubspec.lock'): Promise<string> {
  const path = join(app.config.DATA_DIR, name)
  await writeFile(path, await lockText(upstream, packages))
  return path
}

it('fetches what lock files name while the server runs, which then needs no upstream server', async () => {
  await using started = await start()
  const { upstream, app } = started
  const reader = await app.viewer()
  upstream.publish('intl', '0.19.0')
  upstream.publish('intl', '0.20.0')
  upstream.publish('path', '1.9.0')
  upstream.advise('path', { affected: ['1.8.0'] })
  const one = await locked(app, upstream, [
    { name: 'intl', version: '0.19.0' },
    { name: 'path', version: '1.9.0', url: `${app.config.SERVER_URL}/mirror` },
    { name: 'ours', version: '1.0.0', url: 'https://packages.example' },
  ])
  const two = await locked(app, upstream, [{ name: 'intl', version: '0.20.0' }], 'other.lock')
  const run = await adminJson(app, 'mirror-fetch', one, two)
  expect(run).toMatchObject({ code: 0, body: { ok: true, packages: 2, versions: 3, fetched: 3, missing: [] } })
  expect(run.body.skipped).toEqual([{ what: 'ours 1.0.0', reason: 'It is hosted at https://packages.example.' }])
  expect(upstream.mentions('ours')).toBe(false)
  await upstream.stop()
  expect(await reader.get('/mirror/api/packages/intl')).toMatchObject({ status: 200 })
  expect(await reader.get('/mirror/api/packages/path/advisories')).toMatchObject({ status: 200, body: { advisories: [{}] } })
  for (const archive of ['intl-0.19.0', 'intl-0.20.0', 'path-1.9.0'])
    expect(await reader.get(`/mirror/api/archives/${archive}.tar.gz`)).toMatchObject({ status: 200 })
  // Again, also without the upstream server.
  expect(await adminJson(app, 'mirror-fetch', one, two)).toMatchObject({ code: 0, body: { versions: 3, fetched: 0, bytes: 0 } })
})

it('fetches while the server is stopped, and repairs archives whose file is gone', async () => {
  await using started = await start()
  const { upstream, app } = started
  upstream.publish('intl', '0.19.0')
  const path = await locked(app, upstream, [{ name: 'intl', version: '0.19.0' }])
  await app.stop()
  expect(await admin(app, 'mirror-fetch', path)).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^The mirror has 1 version of 1 package\. Fetched now: 1 archive \(\d+ bytes\)\. Skipped: 0\. Missing: 0\.$/,
    ),
  })
  const store = await mirrorFiles.store({ config: app.config, state: {} })
  await store.remove(await upstream.version('intl', '0.19.0').sha256(), { at: new Date() })
  expect(await adminJson(app, 'mirror-fetch', path)).toMatchObject({ code: 0, body: { fetched: 1 } })
})

it('reports what is missing, with reasons, and fetches the rest', async () => {
  await using started = await start()
  const { upstream, app } = started
  await publishOwn(app, await app.member(), { name: 'ours', version: '1.0.0' })
  for (const name of ['good', 'broken', 'changed', 'ours']) upstream.publish(name, '1.0.0')
  upstream.fail('/api/archives/broken-1.0.0.tar.gz', failWith(500))
  const path = await locked(app, upstream, [
    { name: 'good', version: '1.0.0' },
    { name: 'broken', version: '1.0.0' },
    { name: 'changed', version: '1.0.0', sha256: 'a'.repeat(64) },
    { name: 'absent', version: '1.0.0' },
    { name: 'ours', version: '1.0.0' },
  ])
  const { code, body } = await adminJson(app, 'mirror-fetch', path)
  expect(code).toBe(1)
  expect(body).toMatchObject({ ok: false, versions: 1, fetched: 1 })
  expect(body.missing).toMatchObject([
    { what: 'absent 1.0.0', reason: 'The upstream server has no such package.' },
    { what: 'broken 1.0.0', reason: expect.stringContaining('status 500') },
    { what: 'changed 1.0.0', reason: expect.stringMatching(/^The lock file has the SHA-256 a{64}, and the upstream server has /) },
    { what: 'ours 1.0.0', reason: expect.stringContaining('belongs to this server') },
  ])
  expect(upstream.mentions('ours')).toBe(false)
})

it('compares the listing again if it lacks a version', async () => {
  await using started = await start()
  const { upstream, app } = started
  upstream.publish('intl', '0.19.0')
  const first = await locked(app, upstream, [{ name: 'intl', version: '0.19.0' }])
  expect(await adminJson(app, 'mirror-fetch', first)).toMatchObject({ code: 0 })
  upstream.publish('intl', '0.20.0')
  const second = await locked(app, upstream, [{ name: 'intl', version: '0.20.0' }])
  expect(await adminJson(app, 'mirror-fetch', second)).toMatchObject({ code: 0, body: { fetched: 1 } })
  const none = await locked(app, upstream, [{ name: 'intl', version: '9.0.0' }])
  expect(await adminJson(app, 'mirror-fetch', none)).toMatchObject({
    code: 1,
    body: { missing: [{ what: 'intl 9.0.0', reason: 'The upstream server has no such version.' }] },
  })
})

it('refuses files that are not lock files, and servers without a mirror', async () => {
  await using started = await start()
  const { app } = started
  const path = join(app.config.DATA_DIR, 'pubspec.yaml')
  await writeFile(path, 'name: app\n')
  expect(await admin(app, 'mirror-fetch', path)).toMatchObject({
    code: 2,
    err: `${path}: This is a pubspec.yaml. Use the pubspec.lock next to it, which \`dart pub get\` writes.`,
  })
  expect(await admin(app, 'mirror-fetch', `${path}.none`)).toMatchObject({ code: 1, err: expect.stringContaining('ENOENT') })
  expect(await admin(app, 'mirror-fetch')).toMatchObject({ code: 2, err: expect.stringContaining('Wrong number of values') })
  await using plain = await testApp()
  expect(await admin(plain, 'mirror-fetch', path)).toMatchObject({ code: 78, err: 'UPSTREAM_URL is not set: there is no mirror.' })
})

it('fails if the mirror is larger than UPSTREAM_CACHE_BYTES afterwards', async () => {
  const upstream = await Upstream.start()
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url } })
  upstream.publish('large', '1.0.0', { archive: randomBytes(2 * 1024 ** 2) })
  const path = await locked(app, upstream, [{ name: 'large', version: '1.0.0' }])
  const small = { ...environmentOf(app), UPSTREAM_CACHE_BYTES: String(1024 ** 2) }
  expect(await runCommand(small, 'mirror-fetch', path)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/Missing: 0\.\nThe mirror is 10\d{5} bytes larger than UPSTREAM_CACHE_BYTES\./),
  })
  expect(await adminJson(app, 'mirror-fetch', path)).toMatchObject({ code: 0, body: { excess: 0 } })
})
