import { expect, it } from 'vitest'
import { maxEntries, renderAtom } from '../../server/registry/feeds/binary.ts'
import type { Actor, Answer } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { dependent, makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const titles = ({ body }: Answer): string[] => [...body.matchAll(/<entry>[^]*?<title>(.*?)<\/title>/g)].map(([, title]) => title)
const basicAuth = (name: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` },
})
const retract = (actor: Actor, name: string, version: string) =>
  actor.put(`/api/packages/${name}/versions/${version}/options`, { isRetracted: true })

it('lists the newest versions of a package with absolute URLs', async () => {
  const start = new Date('2026-05-01T10:00:00Z')
  await using app = await testApp({ now: start, env: { SERVER_URL: 'https://pub.example.com' } })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': 'x' } })
  app.clock.now = new Date(start.getTime() + 60_000)
  await publish(alice, { name: 'acme', version: '1.1.0+2' })
  const answer = await alice.get('/packages/acme/feed.atom')
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/atom+xml; charset=utf-8', vary: 'authorization, cookie', 'cache-control': 'private, no-cache' },
  })
  expect(titles(answer)).toEqual(['acme 1.1.0+2', 'acme 1.0.0'])
  expect(answer.body).toContain('<id>https://pub.example.com/packages/acme/feed.atom</id>')
  expect(answer.body).toMatch(/<updated>2026-05-01T10:0[01]:\d\d\.\d{3}Z<\/updated>/)
  expect(answer.body).toContain('<id>https://pub.example.com/packages/acme/versions/1.1.0+2</id>')
  expect(answer.body).toContain('<summary>The package acme, made for a test of the registry.</summary>')
  for (const [, address = ''] of answer.body.matchAll(/href="([^"]*)"/g)) expect(address).toMatch(/^https:\/\/pub\.example\.com\//)
})

it('omits retracted versions, and unlisted packages except in their own feed', async () => {
  await using app = await testApp()
  const [owner, alice] = [await app.owner(), await app.member()]
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await publish(owner, { name: 'hidden', version: '1.0.0' })
  expect((await owner.post('/api/publishers', { id: 'team', displayName: 'The <Team>' })).status).toBe(201)
  await setPublisher(app, 'acme', 'team')
  await setPublisher(app, 'hidden', 'team')
  expect(titles(await alice.get('/feed.atom'))).toEqual(['hidden 1.0.0', 'acme 1.1.0', 'acme 1.0.0'])
  expect((await retract(alice, 'acme', '1.1.0')).status).toBe(200)
  expect((await owner.put('/api/packages/hidden/options', { isUnlisted: true })).status).toBe(200)
  expect(titles(await alice.get('/feed.atom'))).toEqual(['acme 1.0.0'])
  const team = await alice.get('/publishers/team/feed.atom')
  expect(titles(team)).toEqual(['acme 1.0.0'])
  expect(team.body).toContain('<title>New from The &lt;Team&gt;</title>')
  expect(titles(await alice.get('/packages/hidden/feed.atom'))).toEqual(['hidden 1.0.0'])
})

it('limits the number of entries', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let patch = 0; patch <= maxEntries; patch++) await publish(alice, { name: 'acme', version: `1.0.${patch}` })
  expect(titles(await alice.get('/packages/acme/feed.atom'))).toEqual(
    Array.from({ length: maxEntries }, (_, back) => `acme 1.0.${maxEntries - back}`),
  )
  expect(await app.countQueries(() => alice.get('/feed.atom'))).toBeLessThan(5)
})

it('answers 304 until something changes', async () => {
  await using app = await testApp()
  const alice = await app.member()
  expect(titles(await alice.get('/feed.atom'))).toEqual([])
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const { etag = '' } = (await alice.get('/feed.atom')).headers
  const again = { headers: { 'if-none-match': etag } }
  expect(await alice.get('/feed.atom', again)).toMatchObject({ status: 304, body: '' })
  expect(await alice.head('/feed.atom')).toMatchObject({ status: 200, headers: { etag } })
  await publish(alice, { name: 'acme', version: '1.0.1' })
  expect(await alice.get('/feed.atom', again)).toMatchObject({ status: 200 })
})

it('accepts a token as the Basic password for feed readers, and only there', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const secret = alice.secret ?? ''
  for (const url of ['/feed.atom', '/packages/acme/feed.atom', '/packages/acme/badges/version.svg'])
    for (const credentials of [basicAuth('alice', secret), basicAuth(secret, '')])
      expect(await app.anonymous.get(url, credentials)).toMatchObject({ status: 200 })
  expect(await (await alice.session()).get('/feed.atom')).toMatchObject({ status: 200 })
  const refused = await app.anonymous.get('/feed.atom')
  expect(refused).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  expect(refused.headers['www-authenticate']).toEqual([
    expect.stringMatching(/^Bearer realm="pub", message=/),
    expect.stringMatching(/^Basic realm=/),
  ])
  for (const wrong of [basicAuth('alice', 'correct horse'), basicAuth('', ''), { headers: { authorization: 'Basic !' } }])
    expect(await app.anonymous.get('/feed.atom', wrong)).toMatchObject({ status: 401 })
  expect(await app.anonymous.get('/api/auth/me', basicAuth('alice', secret))).toMatchObject({ status: 401 })
  expect((await app.anonymous.get('/api/auth/me')).headers['www-authenticate']).toMatch(/^Bearer realm="pub"/)
  expect(await app.anonymous.post('/api/auth/keys', { name: 'x' }, basicAuth('alice', secret))).toMatchObject({ status: 401 })
})

it('shows public packages to anonymous users and no trace of others', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'open', version: '1.0.0' })
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, dependent('open', '1.1.0', ['secret']))
  const look = async (path: string) => app.anonymous.get(path)
  expect(titles(await look('/feed.atom'))).toEqual([])
  await makePublic(app, 'open')
  expect(titles(await look('/feed.atom'))).toEqual(['open 1.0.0'])
  expect(titles(await look('/packages/open/feed.atom'))).toEqual(['open 1.0.0'])
  expect((await look('/packages/open/badges/version.svg')).raw.toString()).toContain('open: v1.0.0')
  expect((await look('/packages/open/badges/version.svg')).headers).toMatchObject({
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'no-cache',
  })
  for (const name of ['secret', 'absent'])
    for (const file of ['feed.atom', 'badges/version.svg', 'badges/score.svg'])
      expect(await look(`/packages/${name}/${file}`)).toMatchObject({ status: 401, body: (await look('/packages/absent/feed.atom')).body })
  expect(await look('/publishers/team/feed.atom')).toMatchObject({ status: 401 })
  await setSwitch(app, false)
  for (const path of ['/feed.atom', '/packages/open/feed.atom', '/packages/open/badges/version.svg'])
    expect(await look(path)).toMatchObject({ status: 401 })
})

it('answers 404 for feeds of unknown packages and publishers', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const url of ['/packages/acme/feed.atom', '/publishers/unknown/feed.atom', '/packages/acme/badges/version.svg'])
    expect(await alice.get(url)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await alice.get('/packages/A%20B/feed.atom')).toMatchObject({ status: 400 })
})

it('writes only characters that XML allows (XML 1.0 §2.2)', () => {
  const xml = renderAtom({
    self: 'https://x/feed.atom?a=1&b=2',
    title: 'a\u0000b\u001b]]>\ud800\uffff & "c"',
    page: 'https://x/',
    author: "<o'x>",
    entries: [],
  })
  expect(xml).toContain('<title>ab]]&gt;\ufffd &amp; &quot;c&quot;</title>')
  expect(xml).toContain('<id>https://x/feed.atom?a=1&amp;b=2</id>')
  expect(xml).toContain('<name>&lt;o&#39;x&gt;</name>')
  expect(xml).toContain('<updated>1970-01-01T00:00:00.000Z</updated>')
})

async function setPublisher({ services }: TestApp, name: string, publisher: string): Promise<void> {
  await services.database.orm.em.getConnection().execute('update packages set publisher_id = ? where name = ?', [publisher, name])
}
