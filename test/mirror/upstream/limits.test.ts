import { expect, it } from 'vitest'
import { secondsOf } from '../../../server/registry/mirror/health.ts'
import type { Actor } from '../../actor.ts'
import { archivePath, changePolicies, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import type { UpstreamFault } from '../../support/upstream-faults.ts'
import { Upstream } from '../../support/upstream.ts'

const tooMany = {
  status: 429,
  body: {
    error: {
      code: 'RateLimitExceeded',
      message: expect.stringMatching(
        /^Too many packages were requested that the upstream server does not have\. Try again in \d+ seconds\.$/,
      ),
    },
  },
}

/** Requests unknown names, and returns the statuses. */
async function askUnknown(actor: Actor, count: number, { prefix = 'unknown', rest = '', ip = '' } = {}): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < count; at++)
    statuses.push((await actor.get(`/mirror${listingPath(`${prefix}_${at}`)}${rest}`, ip ? { ip } : {})).status)
  return statuses
}

it.each(['', '/score', '/advisories', '/options', '/publisher', '/versions/1.0.0'])(
  'limits how many unknown names one user asks the upstream server for: %s',
  async (rest) => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    await using app = await mirrorOf(upstream)
    const [busy, other] = [await app.member(), await app.member()]
    const statuses = await askUnknown(busy, 120, { rest })
    expect([statuses.filter((status) => status === 404).length, statuses.filter((status) => status === 429).length]).toEqual([40, 80])
    expect(upstream.count()).toBe(40)
    const refused = await busy.get(`/mirror${listingPath('colors')}`)
    expect(refused).toMatchObject(tooMany)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    // Others have limits of their own, and what is in the mirror is always sent.
    expect((await other.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
    expect((await busy.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
    expect((await busy.get(`/mirror${listingPath('unknown_1')}${rest}`)).status).toBe(404)
  },
)

it('does not count names that the upstream server has against that limit', async () => {
  const upstream = await Upstream.start()
  const names = Array.from({ length: 300 }, (_, at) => `known_${at}`)
  for (const name of names) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  const left = [...names]
  const statuses = new Set<number>()
  // A package client sends 16 requests at once.
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop())
        statuses.add((await member.get(`/mirror${listingPath(name)}`)).status)
    }),
  )
  expect([...statuses]).toEqual([200])
  // Nor documents that the upstream server does not have of a package that it has.
  for (const name of names.slice(0, 60)) upstream.remove(name)
  expect(await askUnknown(member, 60, { prefix: 'known', rest: '/options' })).not.toContain(429)
})

it('limits strangers by network and together', async () => {
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_ACCESS: 'open' } })
  const counts = async (ip: string) =>
    (await askUnknown(app.anonymous, 30, { ip, prefix: `of_${ip.replaceAll(/[.:]/g, '_')}` })).filter((status) => status === 404).length
  expect(await counts('198.51.100.1')).toBe(20)
  expect(await counts('2001:db8:1:1::1')).toBe(20)
  expect(await counts('2001:db8:1:2::2')).toBe(0)
  for (const last of [2, 3, 4]) await counts(`198.51.100.${last}`)
  expect(upstream.count()).toBe(80)
  expect((await askUnknown(await app.member(), 1, { prefix: 'member' }))[0]).toBe(404)
})

it('reads what policies need when a caller has used up the limit', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.package('colors').tags = ['license:gpl-3.0']
  await using app = await mirrorOf(upstream)
  await changePolicies(app, { licenses: { mode: 'enforce', deny: ['gpl-3.0'] } })
  const [busy, other] = [await app.member(), await app.member()]
  expect((await other.get(`/mirror${listingPath('colors')}`)).status).toBe(403)
  await app.services.database.fork().execute("delete from mirror_entries where kind = 'score'")
  for (const instance of app.instances) instance.services.caches.mirror.clear()
  await askUnknown(busy, 50)
  expect((await busy.get(`/mirror${listingPath('colors')}`)).status).toBe(403)
})

const rejectWith =
  (status: number, retryAfter?: string): UpstreamFault =>
  (_request, response) =>
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end()

const now = new Date('2026-05-06T07:08:09Z')
const pauses: [number, string | undefined, number][] = [
  [429, '120', 120],
  [429, undefined, 10],
  [429, 'soon', 10],
  [429, '0', 1],
  [429, '99999999', 3600],
  [429, 'Wed, 06 May 2026 07:10:09 GMT', 120],
  [503, '120', 120],
  [503, 'Wednesday, 06-May-26 07:10:09 GMT', 120],
  [503, 'Wed May  6 07:10:09 2026', 120],
]

it.each(pauses)('sends nothing upstream for a while after status %i with Retry-After %s', async (status, retryAfter, seconds) => {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'shapes', 'sounds']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream, { now, alone: true })
  const [busy, other] = [await app.member(), await app.member()]
  const kept = await other.get(`/mirror${listingPath('colors')}`)
  upstream.fail(listingPath('shapes'), rejectWith(status, retryAfter))
  passMinutes(app, 11)
  if (retryAfter?.includes('07:10:09')) upstream.fail(listingPath('shapes'), rejectWith(status, retryAfter.replace('07:10:09', '07:21:09')))
  const wants = { status: 503, headers: { 'retry-after': String(seconds) }, body: { error: { code: 'ServiceUnavailable' } } }
  expect(await busy.get(`/mirror${listingPath('shapes')}`)).toMatchObject(wants)
  const requests = upstream.count()
  for (const path of [listingPath('shapes'), listingPath('sounds'), `${listingPath('sounds')}/score`, archivePath('colors', '1.0.0')]) {
    const answer = await other.get(`/mirror${path}`)
    expect({ path, answer }).toMatchObject({ path, answer: wants })
    expect(answer.body.error.message).toContain('has received too many requests and wants no more until 0')
  }
  const stale = await other.get(`/mirror${listingPath('colors')}`)
  expect(stale).toMatchObject({ status: 200, body: kept.body, headers: { warning: '110 - "Response is Stale"' } })
  expect(upstream.count()).toBe(requests)
  expect(app.lines.filter((line) => line.includes('upstream server'))).toEqual([
    expect.stringMatching(/WARNING .* wants no requests until 0[78]:/),
  ])
  upstream.heal(listingPath('shapes'))
  passMinutes(app, seconds / 60 + 0.1)
  for (const path of [listingPath('shapes'), listingPath('sounds'), archivePath('colors', '1.0.0')])
    expect((await other.get(`/mirror${path}`)).status, path).toBe(200)
})

it('sends nothing upstream after an archive was refused, from any instance', async () => {
  const upstream = await Upstream.start()
  for (const name of ['colors', 'shapes']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  await member.get(`/mirror${listingPath('colors')}`)
  upstream.fail(archivePath('colors', '1.0.0'), rejectWith(429, '60'))
  expect(await member.get(`/mirror${archivePath('colors', '1.0.0')}`)).toMatchObject({
    status: 503,
    headers: { 'retry-after': expect.stringMatching(/^(60|5\d)$/) },
  })
  const requests = upstream.count()
  for (let times = 0; times < 4; times++) {
    // What an instance remembers is not needed.
    for (const { services } of app.instances) delete services.state.upstreamPausedUntil
    expect((await member.get(`/mirror${listingPath('shapes')}`)).status).toBe(503)
    expect((await member.get(`/mirror${archivePath('colors', '1.0.0')}`)).status).toBe(503)
  }
  expect(upstream.count()).toBe(requests)
})

it('ignores status 503 without a time', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  for (const [name, retryAfter] of [
    ['a', undefined],
    ['b', 'later'],
    ['c', 'soon 5'],
    ['d', '-5'],
  ] as const) {
    upstream.fail(listingPath(name), rejectWith(503, retryAfter))
    expect((await member.get(`/mirror${listingPath(name)}`)).status).toBe(503)
  }
  expect((await member.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  expect(secondsOf('1e3', now)).toBeNull()
})
