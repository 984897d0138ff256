import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { startNginx } from '../support/nginx.ts'
import { dependent, makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const shared = (seconds: number) => `public, max-age=0, s-maxage=${seconds}, must-revalidate`

/** Starts a server behind nginx that caches public answers for `seconds`. */
async function cachedApp(seconds: number) {
  const app = await publicApp({ env: { PUBLIC_CACHE_SECONDS: String(seconds) } })
  const address = `http://127.0.0.1:${await startNginx({ instances: [await app.listen()] })}`
  return { app, address, alice: await app.member(), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

/** Reads through the proxy. `cache` is the cache status, or null if the cache was bypassed. */
async function read(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers })
  return { status: answer.status, cache: answer.headers.get('x-cache-status'), headers: answer.headers, body: await answer.text() }
}

const bearer = ({ secret }: Actor) => ({ authorization: `Bearer ${secret}` })
const cookies = (actor: Actor) => ({
  cookie: Object.entries(actor.cookies)
    .map((pair) => pair.join('='))
    .join('; '),
})
const listing = (name: string) => `/api/packages/${name}`
const archive = (name: string, version = '1.0.0') => `/api/archives/${name}-${version}.tar.gz`
const versionsOf = ({ body }: { body: string }): string[] => JSON.parse(body).versions?.map(({ version }: { version: string }) => version)

it('answers repeated requests from the cache: whole, by ETag and in ranges', async () => {
  await using server = await cachedApp(3600)
  const { app, address, alice } = server
  const bytes = await publish(alice, { name: 'acme', version: '1.0.0' })
  await makePublic(app, 'acme')
  for (const path of [
    listing('acme'),
    `${listing('acme')}/versions/1.0.0`,
    archive('acme'),
    '/packages/acme/badges/version.svg',
    '/feed.atom',
  ]) {
    const [first, second] = [await read(address + path), await read(address + path)]
    expect([path, first.cache, second.cache, second.status, second.body === first.body]).toEqual([path, 'MISS', 'HIT', 200, true])
    expect(second.headers.get('cache-control')).toBe(shared(3600))
    expect(second.headers.get('vary')).toContain('authorization, cookie')
    // The request id differs between answers.
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    const etag = second.headers.get('etag')
    if (etag) expect(await read(address + path, { 'if-none-match': etag })).toMatchObject({ status: 304, cache: 'HIT', body: '' })
  }
  const part = await fetch(address + archive('acme'), { headers: { range: 'bytes=5-9' } })
  expect([part.status, part.headers.get('x-cache-status')]).toEqual([206, 'HIT'])
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5, 10))).toBe(true)
})

it('never serves answers for a token or a session to other clients', async () => {
  await using server = await cachedApp(3600)
  const { app, address, alice } = server
  const session = cookies(await alice.session())
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, dependent('acme', '2.0.0', ['secret']))
  await makePublic(app, 'acme')
  const paths = [listing('acme'), archive('acme'), archive('acme', '2.0.0'), listing('secret'), archive('secret'), '/feed.atom']
  const members = ['/api/auth/me', '/api/package-names', '/graphql?query={viewer{email}}']
  for (let round = 0; round < 2; round++) {
    for (const credential of [bearer(alice), session])
      for (const path of [...paths, ...members])
        expect([path, await read(address + path, credential)]).toMatchObject([path, { status: 200, cache: null }])
    expect(versionsOf(await read(address + listing('acme'), bearer(alice)))).toEqual(['1.0.0', '2.0.0'])
    const anonymous = await Promise.all(paths.map(async (path) => read(address + path)))
    expect(anonymous.map(({ status }) => status)).toEqual([200, 200, 401, 401, 401, 200])
    expect(anonymous.map(({ cache }) => cache)).toEqual(
      round === 0 ? paths.map(() => 'MISS') : ['HIT', 'HIT', 'MISS', 'MISS', 'MISS', 'HIT'],
    )
    expect(versionsOf(anonymous[0] ?? { body: '' })).toEqual(['1.0.0'])
    expect(anonymous.at(-1)?.body).not.toContain('secret')
    // A client with an invalid token expects to be signed in and must not receive the cached answer.
    for (const path of paths)
      expect(await read(address + path, { authorization: 'Bearer svc_pat_wrong' })).toMatchObject({ status: 401, cache: null })
  }
})

it('shows a change once the cached answer expires', async () => {
  await using server = await cachedApp(1)
  const { app, address, alice } = server
  const names = ['grows', 'retracts', 'hides', 'lonely']
  for (const name of names) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, dependent('needs', '1.0.0', ['lonely']))
  await makePublic(app, ...names, 'needs')
  const paths = [...names, 'needs'].flatMap((name) => [listing(name), archive(name)])
  for (const path of paths) await read(address + path)
  await publish(alice, { name: 'grows', version: '1.1.0' })
  await change(app, alice)
  const changed = Date.now()
  const shown = async () => {
    const answers = await Promise.all(paths.map(async (path) => read(address + path)))
    const [grows, , retracts] = answers
    return {
      grows: grows && versionsOf(grows),
      retracted: retracts?.body.includes('"retracted":true'),
      statuses: answers.map(({ status }) => status).join(' '),
    }
  }
  const statuses = '200 200 200 200 401 401 401 401 401 401'
  await expect.poll(shown, { interval: 50 }).toEqual({ grows: ['1.0.0', '1.1.0'], retracted: true, statuses })
  // The proxy counts whole seconds.
  expect(Date.now() - changed).toBeLessThan(4000)
  // Unchanged answers are revalidated, not sent again.
  expect(await read(address + archive('grows'))).toMatchObject({ cache: expect.stringMatching(/^(HIT|REVALIDATED)$/) })
  await setSwitch(app, false)
  await expect.poll(async () => (await read(address + archive('grows'))).status, { interval: 50 }).toBe(401)
})

async function change(app: TestApp, alice: Actor): Promise<void> {
  const done = await Promise.all([
    alice.put('/api/packages/retracts/versions/1.0.0/options', { isRetracted: true }),
    alice.put('/api/packages/hides/visibility', { visibility: 'private', confirm: 'hides' }),
    alice.put('/api/packages/lonely/visibility', { visibility: 'private', confirm: 'lonely', acceptBreakage: true }),
  ])
  expect(done.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(app.config.PUBLIC_CACHE_SECONDS).toBe(1)
}

it('makes caches revalidate without the setting and never caches refusals', async () => {
  await using app = await publicApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await makePublic(app, 'acme')
  const address = `http://127.0.0.1:${await startNginx({ instances: [await app.listen()] })}`
  for (let round = 0; round < 2; round++) {
    for (const path of [listing('acme'), archive('acme')]) expect(await read(address + path)).toMatchObject({ status: 200, cache: 'MISS' })
    for (const path of [listing('absent'), '/documentation/absent/latest/', '/api/nothing'])
      expect(await read(address + path, { accept: 'text/html' })).toMatchObject({ cache: 'MISS' })
  }
  app.config.PUBLIC_CACHE_SECONDS = 60
  for (const path of ['/documentation/acme/1.0.0/', '/documentation/absent/latest/index.html'])
    expect((await app.anonymous.get(path, { headers: { accept: 'text/html' } })).headers['cache-control']).toBe('private, no-store')
})
