import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { publishOwn } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'
import type { UpstreamFault } from '../support/upstream-faults.ts'

async function start(env: Record<string, string> = {}) {
  const upstream = await Upstream.start()
  const app = await testApp({ env: { UPSTREAM_URL: upstream.url, ...env } })
  return { upstream, app, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

const sendText =
  (text: string, headers: Record<string, string> = {}): UpstreamFault =>
  (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text)

/** Returns a listing with this text as a field of its pubspec. */
const listingWith = (name: string, field: string) =>
  `{"name":"${name}","versions":[{"version":"1.0.0","pubspec":{"name":"${name}","version":"1.0.0",${field}}}]}`

it('refuses documents that are nested too deep, and keeps working', async () => {
  await using started = await start()
  const { upstream, app } = started
  const member = await app.member()
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  upstream.publish('intl', '1.0.0')
  upstream.publish('deep', '1.0.0')
  upstream.fail('/api/packages/deep', sendText(listingWith('deep', `"x":${deep}`)))
  upstream.fail('/api/packages/intl/score', sendText(`{"tags":${deep}}`))
  upstream.fail('/api/packages/intl/advisories', sendText(`{"advisories":[{"id":"A","x":${deep}}],"advisoriesUpdated":null}`))
  for (const path of ['deep', 'intl/score', 'intl/advisories'])
    expect(await member.get(`/mirror/api/packages/${path}`), path).toMatchObject({ status: 503 })
  // A version that cannot be read does not hide the others.
  const mixed = listingWith('mixed', '"x":1').replace(
    ']}',
    `,{"version":"2.0.0","pubspec":{"name":"mixed","version":"2.0.0","x":${deep}}}]}`,
  )
  upstream.publish('mixed', '1.0.0')
  upstream.fail('/api/packages/mixed', sendText(mixed))
  expect((await member.get('/mirror/api/packages/mixed')).body.versions).toMatchObject([{ version: '1.0.0' }])
  expect(await member.get('/mirror/api/packages/intl')).toMatchObject({ status: 200 })
})

it('keeps keys such as __proto__ and texts that PostgreSQL cannot store out of its state', async () => {
  await using started = await start()
  const { upstream, app } = started
  const member = await app.member()
  for (const name of ['proto', 'nul', 'surrogate', 'constructor']) upstream.publish(name, '1.0.0')
  upstream.fail('/api/packages/proto', sendText(listingWith('proto', '"__proto__":{"polluted":true},"description":"a"')))
  upstream.fail('/api/packages/nul', sendText(listingWith('nul', String.raw`"description":"a\u0000b"`)))
  upstream.fail('/api/packages/surrogate', sendText(listingWith('surrogate', String.raw`"description":"\ud800"`)))
  for (const name of ['proto', 'nul', 'surrogate', 'constructor'])
    expect(await member.get(`/mirror/api/packages/${name}`), name).toMatchObject({ status: 200, body: { name } })
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  // The reason of a fault quotes the upstream server.
  upstream.fail('/api/archives/nul-1.0.0.tar.gz', (_request, response) =>
    response.writeHead(302, { location: 'http://\u00e9vil.example/\u00ff' }).end(),
  )
  expect(await member.get('/mirror/api/archives/nul-1.0.0.tar.gz')).toMatchObject({ status: 503 })
})

it('compares with an upstream server that sends odd ETags, and never passes its headers on', async () => {
  await using started = await start({ UPSTREAM_TTL: '0' })
  const { upstream, app } = started
  const member = await app.member()
  upstream.publish('intl', '1.0.0')
  const listing = listingWith('intl', '"x":1')
  for (const etag of ['"\u00e9\u00ff"', `"${'x'.repeat(4000)}"`, '', '*', 'W/"a", "b"', '"\t"']) {
    upstream.fail('/api/packages/intl', sendText(listing, { etag, 'set-cookie': 'a=b', 'x-evil': '1', location: 'https://evil.example' }))
    for (let n = 0; n < 2; n++) {
      app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + 60_000)
      const { status, headers } = await member.get('/mirror/api/packages/intl')
      expect([etag.slice(0, 10), status, headers['warning']]).toEqual([etag.slice(0, 10), 200, undefined])
      expect(headers).not.toHaveProperty('x-evil')
      expect(headers).not.toHaveProperty('set-cookie')
      expect(headers['etag']).toMatch(/^W\/"[\w-]{22}"$/)
    }
  }
})

it('refuses compressed documents that expand without bound', async () => {
  await using started = await start()
  const { upstream, app } = started
  const member = await app.member()
  upstream.publish('bomb', '1.0.0')
  const bomb = gzipSync(Buffer.alloc(64 * 1024 ** 2, ' '))
  upstream.fail('/api/packages/bomb', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb),
  )
  expect(await member.get('/mirror/api/packages/bomb')).toMatchObject({ status: 503 })
})

it('stops serving a cached upstream package when its name is published here', async () => {
  await using started = await start({ UPSTREAM_ACCESS: 'open' })
  const { upstream, app } = started
  const member = await app.member()
  upstream.publish('ours', '9.0.0')
  const paths = [
    'api/packages/ours',
    'api/packages/ours/versions/9.0.0',
    'api/packages/ours/score',
    'api/packages/ours/options',
    'api/packages/ours/publisher',
    'api/packages/ours/advisories',
    'api/archives/ours-9.0.0.tar.gz',
  ]
  for (const path of paths) expect(await member.get(`/mirror/${path}`), path).toMatchObject({ status: 200 })
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  const requests = upstream.count()
  for (const path of [...paths, 'packages/ours/versions/9.0.0.tar.gz', 'api/packages/ours/versions/9.0.0/archive.tar.gz']) {
    expect(await member.get(`/mirror/${path}`), path).toMatchObject({ status: 403 })
    // Strangers are redirected from the former URLs of archives, as for names that do not exist.
    expect([404, 303], path).toContain((await app.anonymous.get(`/mirror/${path}`)).status)
  }
  const { body } = await member.graphql('{ upstreamPackage(name: "ours") { name } }')
  expect(body.data?.upstreamPackage ?? null).toBeNull()
  expect(upstream.requests.slice(requests).filter((request) => request.path.includes('ours'))).toEqual([])
})
