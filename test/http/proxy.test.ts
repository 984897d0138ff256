import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { announce, publish } from '../support/publish.ts'
import { cookieNames } from '../support/cookies.ts'

const secureNames = cookieNames(undefined, true)

// A trusted proxy reports https for the client's connection even if SERVER_URL is http.
const encrypted = { 'x-forwarded-proto': 'https' }
const proxied = { ip: '127.0.0.1', headers: encrypted }
const login = ({ email }: Actor) => ({ email, password: 'correct horse' })

it('accepts sign-ins behind a TLS proxy, with Secure cookies', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const from = (origin: string, ip = '127.0.0.1') =>
    app.anonymous.post('/api/auth/login', login(alice), { ip, headers: { ...encrypted, origin } })
  expect(await from('https://localhost:8080')).toMatchObject({
    status: 200,
    cookies: [
      { name: secureNames.session, secure: true },
      { name: secureNames.csrf, secure: true },
      { name: secureNames.device, secure: true },
    ],
  })
  const refused = { status: 403, body: { error: { code: 'CsrfMismatch' } } }
  expect(await from('https://evil.example')).toMatchObject(refused)
  expect(await from('http://localhost:8080')).toMatchObject(refused)
  // Headers of clients that are not trusted proxies are ignored.
  expect(await from('https://localhost:8080', '203.0.113.9')).toMatchObject(refused)
  expect(await from('http://localhost:8080', '203.0.113.9')).toMatchObject({ status: 200 })
})

it("builds URLs for the scheme of the client's connection", async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'tool', version: '1.0.0' })
  const query = '{ server { url } package(name: "tool") { url latest { archiveUrl } } }'
  const urls = async (options?: typeof proxied) => {
    const { body } = await alice.graphql(query, {}, options)
    return [body.data.server.url, body.data.package.url, body.data.package.latest.archiveUrl]
  }
  const paths = ['', '/packages/tool', '/api/archives/tool-1.0.0.tar.gz']
  expect(await urls(proxied)).toEqual(paths.map((path) => `https://localhost:8080${path}`))
  expect(await urls()).toEqual(paths.map((path) => `http://localhost:8080${path}`))
  const upload = '/api/packages/versions/upload'
  expect(await alice.get('/api/packages/versions/new', proxied)).toMatchObject({
    body: { url: expect.stringMatching(/^https:\/\/localhost:8080\/api\/packages\/versions\/upload\?upload_id=/) },
  })
  const sent = { ...proxied, headers: { ...encrypted, 'content-type': 'application/octet-stream' } }
  expect(await alice.post(`${upload}?upload_id=${await announce(alice)}`, Buffer.from('x'), sent)).toMatchObject({
    status: 302,
    headers: { location: expect.stringMatching(/^https:\/\/localhost:8080\/api\/packages\/versions\/newUploadFinish/) },
  })
  const invitation = { email: 'ivy@example.com', displayName: 'Ivy', mode: 'invite' }
  expect((await (await app.admin()).post('/api/admin/users', invitation, proxied)).body.inviteUrl).toMatch(
    /^https:\/\/localhost:8080\/invite\//,
  )
  expect(await app.anonymous.get('/api/auth/me', proxied)).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('https://localhost:8080/settings/tokens') },
  })
  expect(await app.anonymous.get('/api/docs/openapi.json', proxied)).toMatchObject({
    body: { servers: [{ url: 'https://localhost:8080' }] },
  })
  expect(await app.anonymous.get('/api/docs/openapi.json')).toMatchObject({ body: { servers: [{ url: 'http://localhost:8080' }] } })
})

it("builds archive URLs for the scheme of the client's connection, because clients send tokens to no other", async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'tool', version: '1.0.0' })
  const archive = '/api/archives/tool-1.0.0.tar.gz'
  // Requests each twice, because answers are cached.
  for (const [options, scheme] of [
    [proxied, 'https'],
    [{}, 'http'],
    [proxied, 'https'],
    [{}, 'http'],
  ] as const) {
    const listing = await alice.get('/api/packages/tool', options)
    expect(listing.body.versions[0].archive_url).toBe(`${scheme}://localhost:8080${archive}`)
    expect((await alice.get('/api/packages/tool/versions/1.0.0', options)).body.archive_url).toBe(`${scheme}://localhost:8080${archive}`)
    const [other, rest] = scheme === 'https' ? [{}, {}] : [proxied, encrypted]
    const asked = { ...other, headers: { ...rest, 'if-none-match': String(listing.headers.etag) } }
    expect((await alice.get('/api/packages/tool', asked)).status).toBe(200)
    const again = {
      ...options,
      headers: { ...('headers' in options ? options.headers : {}), 'if-none-match': String(listing.headers.etag) },
    }
    expect((await alice.get('/api/packages/tool', again)).status).toBe(304)
  }
})

it('warns once when the proxy and SERVER_URL differ', async () => {
  await using app = await testApp()
  const warnings = () => app.lines.filter((line) => line.includes('WARNING') && line.includes('SERVER_URL=https://localhost:8080'))
  await app.anonymous.get('/api/v1/health', { headers: encrypted })
  await app.anonymous.get('/api/v1/health', { ip: '127.0.0.1' })
  expect(warnings()).toEqual([])
  for (let round = 0; round < 3; round++) await app.anonymous.get('/api/v1/health', proxied)
  expect(warnings()).toHaveLength(1)
})

it('counts clients that send X-Forwarded-For by the address that the proxy added', async () => {
  await using app = await testApp()
  const guess = (forwarded: string, ip = '127.0.0.1') =>
    app.anonymous.post('/api/auth/login', { email: 'a@b.example', password: 'wrong' }, { ip, headers: { 'x-forwarded-for': forwarded } })
  const claims = ['1.1.1.1', '10.0.0.9, 2.2.2.2', "garbage'; --", '\u00ff', '[2001:db8::1]:443']
  for (let round = 0; round < 10; round++) expect(await guess(`${claims[round % 5]}, 192.168.0.66`)).toMatchObject({ status: 401 })
  expect(await guess('4.4.4.4, 192.168.0.66:51234')).toMatchObject({ status: 429 })
  // Invalid addresses do not get their own rate limit.
  for (let round = 0; round < 10; round++) expect(await guess(`unknown-${round}`, '10.99.0.1')).toMatchObject({ status: 401 })
  expect(await guess('one more', '10.99.0.1')).toMatchObject({ status: 429 })
  // An IPv6 /64 counts as one client.
  for (let round = 0; round < 10; round++) expect(await guess(`2001:db8:1:2::${round}`)).toMatchObject({ status: 401 })
  expect(await guess('[2001:db8:1:2:ffff::1]:80')).toMatchObject({ status: 429 })
  expect(await guess('2001:db8:1:3::1')).toMatchObject({ status: 401 })
})

it('stores and shows addresses without ports and brackets', async () => {
  await using app = await testApp({ env: { TRUST_PROXY: '127.0.0.0/8, 10.0.0.0/8' } })
  const alice = await app.member()
  const forwarded = '6.6.6.6, "[2001:DB8::7]:443", 10.1.1.1:80, 10.2.2.2'
  expect(
    await app.anonymous.post('/api/auth/login', login(alice), { ip: '127.0.0.1', headers: { 'x-forwarded-for': forwarded } }),
  ).toMatchObject({
    status: 200,
  })
  expect((await alice.get('/api/auth/sessions')).body.sessions).toMatchObject([{ clientIp: '2001:db8::7' }])
})
