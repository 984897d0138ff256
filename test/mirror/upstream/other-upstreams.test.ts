import { expect, it } from 'vitest'
import { archivePath, listingPath, mirrorOf } from '../../support/mirror.ts'
import { alter, failWith, redirectTo } from '../../support/upstream-faults.ts'
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
