import { beforeEach, expect, it } from 'vitest'
import type { Actor } from '../../actor.ts'
import { type TestApp } from '../../app.ts'
import { archivePath, changePolicies, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import { Upstream } from '../../support/upstream.ts'

const now = new Date('2026-05-06T07:08:09Z')
const archive = `/mirror${archivePath('colors', '1.0.0')}`
const entry = `/mirror${listingPath('colors')}/versions/1.0.0`

let upstream: Upstream

beforeEach(async () => {
  upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.publish('colors', '1.1.0')
  // The listing has a date, so that it can have advisories.
  upstream.advise('colors', { id: 'GHSA-aaaa-bbbb-cccc', affected: ['0.9.0'], severity: 'LOW' })
  upstream.package('colors').advisories = []
})

/** Returns the status of each kind of request for the version. None of them is for the listing. */
async function statuses(member: Actor): Promise<number[]> {
  const answers = [
    await member.get(archive),
    await member.head(archive),
    await member.get(archive, { headers: { range: 'bytes=0-9' } }),
    await member.get(archive, { headers: { 'if-none-match': '"other"' } }),
    await member.get(entry),
  ]
  return answers.map(({ status }) => status)
}
const allowed = [200, 200, 206, 200, 200]
const refused = [403, 403, 403, 403, 403]

/** Starts a mirror that has the archive. */
async function startWithArchive(
  policies: Parameters<typeof changePolicies>[1],
): Promise<{ app: TestApp; member: Actor } & AsyncDisposable> {
  const app = await mirrorOf(upstream, { now })
  await changePolicies(app, policies)
  const member = await app.member()
  expect(await statuses(member)).toEqual(allowed)
  return { app, member, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

const advisory = (modified: Date) =>
  upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.0.0'], fixed: '1.1.0', severity: 'HIGH', modified })

it.each(['enforce', 'audit'] as const)('applies a new advisory to direct requests, with the policy in the mode %s', async (mode) => {
  await using mirror = await startWithArchive({ advisories: { mode, severity: 'high' } })
  passMinutes(mirror.app, 5)
  advisory(mirror.app.clock.now ?? now)
  // Not due yet: the listing would be the same, too.
  expect(await statuses(mirror.member)).toEqual(allowed)
  passMinutes(mirror.app, 6)
  expect(await statuses(mirror.member)).toEqual(mode === 'enforce' ? refused : allowed)
  expect((await mirror.member.get(`/mirror${archivePath('colors', '1.1.0')}`)).status).toBe(200)
})

it('applies a new advisory that the listing does not announce', async () => {
  await using mirror = await startWithArchive({ advisories: { mode: 'enforce', severity: 'high' } })
  const { advisoriesUpdated } = upstream.package('colors')
  advisory(now)
  upstream.package('colors').advisoriesUpdated = advisoriesUpdated
  passMinutes(mirror.app, 11)
  expect(await statuses(mirror.member)).toEqual(refused)
})

it('applies a withdrawn advisory no longer', async () => {
  advisory(now)
  const app = await mirrorOf(upstream, { now })
  await using _app = app
  await changePolicies(app, { advisories: { mode: 'enforce', severity: 'high' } })
  const member = await app.member()
  expect(await statuses(member)).toEqual(refused)
  upstream.package('colors').advisories = []
  passMinutes(app, 11)
  expect(await statuses(member)).toEqual(allowed)
})

it('applies advisories that another request, also to another instance, has fetched before they are due', async () => {
  await using mirror = await startWithArchive({ advisories: { mode: 'enforce', severity: 'high' } })
  const admin = await mirror.app.admin()
  passMinutes(mirror.app, 1)
  advisory(mirror.app.clock.now ?? now)
  const { body } = await admin.graphql('mutation { refreshMirroredPackage(input: { name: "colors" }) { package { name } } }')
  expect(body.errors).toBeUndefined()
  expect(await statuses(mirror.member)).toEqual(refused)
  expect(await statuses(mirror.member)).toEqual(refused)
})

it('keeps the last known advisories while the upstream server is away', async () => {
  await using mirror = await startWithArchive({ advisories: { mode: 'enforce', severity: 'high' } })
  await upstream.stop()
  passMinutes(mirror.app, 11)
  expect(await statuses(mirror.member)).toEqual(allowed)
  await upstream.listen()
  advisory(mirror.app.clock.now ?? now)
  passMinutes(mirror.app, 1)
  expect(await statuses(mirror.member)).toEqual(refused)
})

it('applies changed policies at once', async () => {
  await using mirror = await startWithArchive({})
  const deny = [{ name: 'colors', publisher: null, versions: '<1.1.0' }]
  await changePolicies(mirror.app, { packages: { mode: 'enforce', deny } })
  expect(await statuses(mirror.member)).toEqual(refused)
  await changePolicies(mirror.app, { packages: { mode: 'audit', deny } })
  expect(await statuses(mirror.member)).toEqual(allowed)
  await changePolicies(mirror.app, { packages: { mode: 'off' }, licenses: { mode: 'enforce', deny: ['bsd-3-clause'] } })
  expect(await statuses(mirror.member)).toEqual(refused)
})

it('applies a changed license and publisher when the score is due', async () => {
  const deny = [{ name: null, publisher: 'evil.example', versions: null }]
  await using mirror = await startWithArchive({ packages: { mode: 'enforce', deny }, licenses: { mode: 'enforce', deny: ['gpl-3.0'] } })
  upstream.package('colors').publisher = 'evil.example'
  passMinutes(mirror.app, 61)
  expect(await statuses(mirror.member)).toEqual(refused)
  upstream.package('colors').publisher = null
  passMinutes(mirror.app, 61)
  expect(await statuses(mirror.member)).toEqual(allowed)
  upstream.package('colors').tags = ['license:gpl-3.0']
  passMinutes(mirror.app, 61)
  expect(await statuses(mirror.member)).toEqual(refused)
})

it('judges the age at the time of the request', async () => {
  await using mirror = await startWithArchive({})
  upstream.publish('colors', '1.0.0', { published: new Date(now.getTime() - 86_400_000), pubspec: { description: 'again' } })
  upstream.publish('young', '1.0.0', { published: new Date(now.getTime() - 86_400_000) })
  const young = `/mirror${archivePath('young', '1.0.0')}`
  expect((await mirror.member.get(young)).status).toBe(200)
  await changePolicies(mirror.app, { minimumAge: { mode: 'enforce', days: 7, hide: true } })
  expect((await mirror.member.get(young)).status).toBe(403)
  passMinutes(mirror.app, 6 * 24 * 60 - 5)
  expect((await mirror.member.get(young)).status).toBe(403)
  passMinutes(mirror.app, 6)
  expect((await mirror.member.get(young)).status).toBe(200)
})
