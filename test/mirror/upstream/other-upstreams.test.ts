import { expect, it } from 'vitest'
import { archivePath, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import { alter, alterBehindEtag, failWith, redirectTo, send } from '../../support/upstream-faults.ts'
import { Upstream } from '../../support/upstream.ts'

const path = archivePath('colors', '1.0.0')

it('sends the token to the upstream server, and not to the host of archives', async () => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start()]
  for (const one of [upstream, archives]) one.publish('colors', '1.0.0')
  upstream.fail(path, redirectTo(`${archives.url}${path}`))
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_TOKEN: 'snug_secret', UPSTREAM_ARCHIVE_HOSTS: new URL(archives.url).host } })
  const member = await app.member()
  expect((await member.get(`/mirror${path}`)).status).toBe(200)
  expect(upstream.requestsTo(path).map(({ headers }) => headers.authorization)).toEqual(['Bearer snug_secret'])
  expect(archives.requestsTo(path).map(({ headers }) => headers.authorization)).toEqual([undefined])
})

it.each([
  ['/tools/api/archives/colors-1.0.0.tar.gz', true],
  ['/tools/other/colors-1.0.0.tar.gz', true],
  ['/colors-1.0.0.tar.gz', false],
  ['/tools-of-others/colors-1.0.0.tar.gz', false],
  ['/tools/../colors-1.0.0.tar.gz', false],
  ['/tools/%2e%2e/colors-1.0.0.tar.gz', false],
  ['/tools/..%2fcolors-1.0.0.tar.gz', false],
  ['/tools/..%5ccolors-1.0.0.tar.gz', false],
  ['/tools/%252e%252e/colors-1.0.0.tar.gz', false],
])('sends the token only below the path of UPSTREAM_URL: %s %s', async (place, isSent) => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  const version = { version: '1.0.0', pubspec: { name: 'colors', version: '1.0.0' }, archive_url: `${upstream.url}${place}` }
  upstream.fail(`/tools${listingPath('colors')}`, send(JSON.stringify({ name: 'colors', latest: version, versions: [version] })))
  const env = { UPSTREAM_URL: `${upstream.url}/tools`, UPSTREAM_TOKEN: 'snug_secret' }
  await using app = await mirrorOf(upstream, { env })
  await (await app.member()).get(`/mirror${path}`)
  const sent = upstream.requestsTo().filter((request) => request.path.endsWith('colors-1.0.0.tar.gz'))
  expect(sent.length).toBeGreaterThan(0)
  expect(new Set(sent.map(({ headers }) => headers.authorization))).toEqual(new Set([isSent ? 'Bearer snug_secret' : undefined]))
})

it('names UPSTREAM_ARCHIVE_HOSTS when an archive is on a private address', async () => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start()]
  upstream.publish('colors', '1.0.0')
  upstream.fail(path, redirectTo(`${archives.url}${path}`))
  await using app = await mirrorOf(upstream)
  const answer = await (await app.member()).get(`/mirror${path}`)
  expect({ status: answer.status, text: answer.raw.toString() }).toEqual({
    status: 503,
    text: expect.stringContaining('UPSTREAM_ARCHIVE_HOSTS'),
  })
  expect(archives.count()).toBe(0)
})

it.each([400, 401, 403, 404, 410])('reads an archive URL that answers %i again from a new listing', async (status) => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  const expired = `${path}?signature=old`
  upstream.fail(expired, failWith(status))
  upstream.fail(
    listingPath('colors'),
    alter((listing) => (listing.versions[0].archive_url = `${upstream.url}${expired}`)),
  )
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  expect((await member.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  upstream.heal(listingPath('colors'))
  expect((await member.get(`/mirror${path}`)).status).toBe(200)
  expect([upstream.count(expired), upstream.count(path)]).toEqual([1, 1])
})

it('reads an expired archive URL again although the ETag of the listing is the same', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  const [old, renewed] = [`${path}?signature=old`, '/packages/colors/versions/1.0.0.tar.gz']
  const stating = (place: string) => alterBehindEtag((listing) => (listing.versions[0].archive_url = `${upstream.url}${place}`))
  upstream.fail(old, failWith(403))
  upstream.fail(listingPath('colors'), stating(old))
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  expect((await member.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  upstream.fail(listingPath('colors'), stating(renewed))
  expect((await member.get(`/mirror${path}`)).status).toBe(200)
  expect([upstream.count(old), upstream.count(renewed)]).toEqual([1, 1])
  expect(upstream.requestsTo(listingPath('colors')).map(({ status }) => status)).toEqual([200, 200])
})

it.each([401, 403])('reports that another host refuses access to an archive with status %i, after one more attempt', async (status) => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start()]
  upstream.publish('colors', '1.0.0')
  const { host } = new URL(archives.url)
  let signature = 0
  upstream.fail(
    listingPath('colors'),
    alter((listing) => (listing.versions[0].archive_url = `${archives.url}${path}?signature=${++signature}`)),
  )
  for (const one of [1, 2]) archives.fail(`${path}?signature=${one}`, failWith(status))
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_TOKEN: 'snug_secret', UPSTREAM_ARCHIVE_HOSTS: host } })
  const member = await app.member()
  for (const _attempt of ['fetched', 'remembered']) {
    const answer = await member.get(`/mirror${path}`)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
    const text = answer.raw.toString()
    expect(text).toContain(`(status ${status}: ${host} refuses access to it).`)
    expect(text).not.toMatch(/try again|UPSTREAM_TOKEN/i)
  }
  expect(archives.count()).toBe(2)
})

it.each([401, 403])('reports that the bucket behind the upstream server refuses access with status %i', async (status) => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start()]
  upstream.publish('colors', '1.0.0')
  upstream.fail(path, redirectTo(`${archives.url}/bucket/colors`))
  archives.fail('/bucket/colors', failWith(status))
  const { host } = new URL(archives.url)
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_ARCHIVE_HOSTS: host } })
  const text = (await (await app.member()).get(`/mirror${path}`)).raw.toString()
  expect(text).toContain(`(status ${status}: ${host} refuses access to it).`)
  expect(text).not.toMatch(/try again|UPSTREAM_TOKEN/i)
})

it.each([403, 500])('logs one failure of a package with status %i while others are answered', async (status) => {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'shapes', 'sounds']) upstream.publish(name, '1.0.0')
  upstream.fail(listingPath('colors'), failWith(status))
  await using app = await mirrorOf(upstream, { alone: true, now: new Date('2026-05-06T07:08:09Z') }) // each instance logs it once
  const member = await app.member()
  const read = async (name: string) => (await member.get(`/mirror${listingPath(name)}`)).status
  const logged = () => app.lines.filter((line) => line.includes('upstream server of the mirror'))
  for (let round = 0; round < 4; round++) {
    for (const name of ['colors', 'shapes', 'sounds']) expect(await read(name)).toBe(name === 'colors' ? 503 : 200)
    passMinutes(app, 11)
  }
  const what = status === 403 ? 'refuses access' : 'does not answer'
  expect(logged().filter((line) => line.includes(what))).toHaveLength(1)
  expect(logged().length).toBeLessThanOrEqual(2)
  // A failure of all packages is logged.
  for (const name of ['colors', 'shapes', 'sounds']) upstream.fail(listingPath(name), failWith(status === 403 ? 401 : 503))
  for (const name of ['colors', 'shapes', 'sounds']) await read(name)
  // Stored listings are answered without waiting for an upstream server that just failed.
  const failures = () => logged().filter((line) => line.includes(status === 403 ? 'status 401' : 'status 503'))
  await expect.poll(failures).toHaveLength(1)
  for (const name of ['colors', 'shapes', 'sounds']) upstream.heal(listingPath(name))
  passMinutes(app, 11)
  for (const name of ['colors', 'shapes', 'sounds']) expect(await read(name)).toBe(200)
  await expect.poll(() => logged().at(-1)).toMatch(/answers again\n$/)
})

it.each([401, 403])('names the setting to correct when the upstream server answers %i', async (status) => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.fail(listingPath('colors'), failWith(status))
  await using app = await mirrorOf(upstream)
  const text = (await (await app.member()).get(`/mirror${listingPath('colors')}`)).raw.toString()
  expect(text).toContain('an administrator of this server must set UPSTREAM_TOKEN')
  expect(text).not.toMatch(/try again/i)
})

it.each(['Autolinker', '_macros', '_Mixed'])('passes the name %s through', async (name) => {
  const upstream = await Upstream.start()
  upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  expect((await (await app.member()).get(`/mirror${listingPath(name)}`)).status).toBe(200)
})
