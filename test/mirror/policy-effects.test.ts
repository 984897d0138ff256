import { beforeEach, describe, expect, it } from 'vitest'
import type { MirrorPolicies } from '../../server/registry/mirror/policies/settings.ts'
import { archivePath, changePolicies, listingPath, mirrorClient, mirrorOf, passMinutes } from '../support/mirror.ts'
import { pubGet } from '../support/pub-get.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const now = new Date('2026-05-06T07:08:09Z')
const day = 86_400_000
const daysAgo = (days: number) => new Date(now.getTime() - days * day)
const path = `/mirror${listingPath('colors')}`
const tooYoung = 'colors 1.1.0 is younger than 7 days, the minimum age on this server. It can be used from 2026-05-12 07:09 UTC.'

let upstream: Upstream

beforeEach(async () => {
  upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.publish('colors', '1.1.0', { published: daysAgo(1) })
})

/** Starts a mirror with these policies, and returns it with a client and a function that reads the versions of the listing. */
async function mirrorWith(policies: { [Rule in keyof MirrorPolicies]?: Partial<MirrorPolicies[Rule]> }) {
  const app = await mirrorOf(upstream, { now })
  await changePolicies(app, policies)
  const member = await app.member()
  const client = mirrorClient(await app.listen(), member.secret)
  const versions = async () => {
    const { body } = await member.get(path)
    const listed = body.versions as { version: string; retracted?: boolean }[]
    return {
      latest: body.latest?.version as string,
      versions: listed.map(({ version, retracted }) => version + (retracted ? ' retracted' : '')),
    }
  }
  return { app, member, client, versions, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

describe('the minimum age', () => {
  it('marks younger versions as retracted until they are old enough', async () => {
    await using mirror = await mirrorWith({ minimumAge: { mode: 'enforce', days: 7 } })
    expect(await mirror.versions()).toEqual({ latest: '1.0.0', versions: ['1.0.0', '1.1.0 retracted'] })
    expect((await mirror.member.get(`${path}/versions/1.1.0`)).body.retracted).toBe(true)
    const before = (await mirror.member.get(path)).headers.etag
    passMinutes(mirror.app, 6 * 24 * 60 + 1)
    expect(await mirror.versions()).toEqual({ latest: '1.1.0', versions: ['1.0.0', '1.1.0'] })
    expect((await mirror.member.get(path)).headers.etag).not.toBe(before)
  })

  it('hides younger versions in its strict form, with the date until which it does', async () => {
    await using mirror = await mirrorWith({ minimumAge: { mode: 'enforce', days: 7, hide: true } })
    expect(await mirror.versions()).toEqual({ latest: '1.0.0', versions: ['1.0.0'] })
    await expect(pubGet(mirror.client, { colors: '^1.0.0' }, { colors: '1.1.0' })).resolves.toMatchObject({ lock: { colors: '1.0.0' } })
    for (const refused of [`${path}/versions/1.1.0`, `/mirror${archivePath('colors', '1.1.0')}`]) {
      const { status, body } = await mirror.member.get(refused)
      expect({ status, message: body.error.message }).toEqual({ status: 403, message: tooYoung })
    }
    expect(upstream.count(archivePath('colors', '1.1.0'))).toBe(0)
  })

  it('sends the client the reason if no version of a package is left', async () => {
    upstream.publish('newest', '1.1.0', { published: daysAgo(1) })
    await using mirror = await mirrorWith({ minimumAge: { mode: 'enforce', days: 7, hide: true } })
    await expect(mirror.client.listing('newest')).rejects.toMatchObject({ status: 403, message: tooYoung.replace('colors', 'newest') })
    expect(mirror.client.hasToken).toBe(true)
  })

  it('exempts packages by name and versions that fix an advisory', async () => {
    upstream.publish('shapes', '2.0.0', { published: daysAgo(1) })
    upstream.advise('colors', { affected: ['1.0.0'], fixed: '1.1.0' })
    await using mirror = await mirrorWith({ minimumAge: { mode: 'enforce', days: 7, exempt: ['sha*'] } })
    expect((await mirror.client.listing('shapes')).latest.version).toBe('2.0.0')
    expect((await mirror.versions()).latest).toBe('1.1.0')
    await changePolicies(mirror.app, { minimumAge: { exemptFixes: false } })
    expect((await mirror.versions()).latest).toBe('1.0.0')
  })

  it('only counts in audit mode', async () => {
    await using mirror = await mirrorWith({ minimumAge: { mode: 'audit', days: 7, hide: true } })
    expect(await mirror.versions()).toEqual({ latest: '1.1.0', versions: ['1.0.0', '1.1.0'] })
    expect((await mirror.member.get(`/mirror${archivePath('colors', '1.1.0')}`)).status).toBe(200)
  })
})

describe('other policies', () => {
  const names = (...denied: string[]) => denied.map((name) => ({ name, publisher: null, versions: null }))

  it('refuse denied packages with the entry of the list', async () => {
    await using mirror = await mirrorWith({ packages: { mode: 'enforce', deny: names('col*') } })
    await expect(mirror.client.listing('colors')).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/^colors 1\.[01]\.0 is denied on this server by the entry "col\*"\.$/),
    })
    expect((await mirror.member.get(`/mirror${archivePath('colors', '1.0.0')}`)).status).toBe(403)
    expect(upstream.count(archivePath('colors', '1.0.0'))).toBe(0)
  })

  it('refuse cached archives, too', async () => {
    await using mirror = await mirrorWith({})
    const archive = `/mirror${archivePath('colors', '1.0.0')}`
    expect((await mirror.member.get(archive)).status).toBe(200)
    await changePolicies(mirror.app, { packages: { mode: 'enforce', deny: [{ name: 'colors', publisher: null, versions: '<1.1.0' }] } })
    for (const answer of [await mirror.member.get(archive), await mirror.member.get(archive, { headers: { range: 'bytes=0-9' } })])
      expect(answer).toMatchObject({ status: 403, body: { error: { message: expect.stringContaining('is denied on this server') } } })
    expect((await mirror.member.head(archive)).status).toBe(403)
    expect(await mirror.versions()).toEqual({ latest: '1.1.0', versions: ['1.1.0'] })
    await changePolicies(mirror.app, { packages: { mode: 'off' } })
    expect((await mirror.member.get(archive)).status).toBe(200)
  })

  it('allow only listed packages and publishers', async () => {
    upstream.publish('paint', '1.0.0')
    upstream.publish('shapes', '1.0.0')
    upstream.package('shapes').publisher = 'shapes.example'
    const allow = [...names('colors'), { name: null, publisher: 'shapes.example', versions: null }]
    await using mirror = await mirrorWith({ packages: { mode: 'enforce', allow } })
    for (const name of ['colors', 'shapes']) expect((await mirror.client.listing(name)).versions.length, name).toBeGreaterThan(0)
    await expect(mirror.client.listing('paint')).rejects.toMatchObject({
      status: 403,
      message: 'paint 1.0.0 is not among the packages that this server allows.',
    })
  })

  it('refuse versions with a severe advisory, and none with a lesser one', async () => {
    upstream.advise('colors', { affected: ['1.1.0'], severity: 'HIGH' })
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.0.0'], severity: 'LOW' })
    upstream.package('colors').advisories = upstream.package('colors').advisories.map((advisory) => withoutRanges(advisory))
    await using mirror = await mirrorWith({ advisories: { mode: 'enforce', severity: 'high' } })
    expect(await mirror.versions()).toEqual({ latest: '1.0.0', versions: ['1.0.0'] })
    const { body } = await mirror.member.get(`/mirror${archivePath('colors', '1.1.0')}`)
    expect(body.error.message).toMatch(
      /^colors 1\.1\.0 is affected by GHSA-aaaa-bbbb-cccc \(severity high\), which this server does not allow/,
    )
  })

  it('refuse licenses by the tags of the upstream server', async () => {
    upstream.package('colors').tags = ['sdk:dart', 'license:gpl-3.0', 'license:osi-approved']
    await using mirror = await mirrorWith({ licenses: { mode: 'enforce', deny: ['gpl-3.0'] } })
    await expect(mirror.client.listing('colors')).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/^colors 1\.\d\.0 uses the GPL-3\.0 license, which this server does not allow\.$/),
    })
  })
})

/** Removes the ranges, as pub.dev sends an advisory that only lists versions. */
const withoutRanges = (advisory: object): object => {
  const { affected } = advisory as { affected: object[] }
  return { ...advisory, affected: affected.map((entry) => ({ ...entry, ranges: null })) }
}

describe('policies with little knowledge', () => {
  it('do not use unknown licenses for longer than a moment', async () => {
    for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version)
    Object.assign(upstream.package('colors'), { tags: ['license:mit'] })
    upstream.fail(`${listingPath('colors')}/score`, failWith(500))
    await using app = await mirrorOf(upstream)
    await changePolicies(app, { licenses: { mode: 'enforce', allow: ['mit'] } })
    const member = await app.member()
    expect((await member.get(path)).status).toBe(403)
    upstream.heal(`${listingPath('colors')}/score`)
    passMinutes(app, 1)
    expect((await member.get(path)).status).toBe(200)
  })

  it('apply a new advisory as soon as the upstream server sends it', async () => {
    for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version)
    upstream.advise('colors', { id: 'GHSA-aaaa-bbbb-cccc', affected: ['1.0.0'], fixed: '1.1.0' })
    await using app = await mirrorOf(upstream)
    await changePolicies(app, { advisories: { mode: 'enforce', severity: 'low', unknownAs: 'critical' } })
    const member = await app.member()
    const versions = async () => (await member.get(path)).body.versions.map(({ version }: { version: string }) => version)
    expect(await versions()).toEqual(['1.1.0'])
    upstream.publish('colors', '1.2.0')
    passMinutes(app, 11)
    const modified = app.clock.now ?? new Date()
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.1.0'], fixed: '1.2.0', modified })
    upstream.fail(`${listingPath('colors')}/advisories`, failWith(500))
    expect(await versions()).toEqual(['1.1.0', '1.2.0'])
    upstream.heal(`${listingPath('colors')}/advisories`)
    passMinutes(app, 1)
    expect(await versions()).toEqual(['1.2.0'])
  })

  it('need no advisories of an upstream server that is away unless they enforce them', async () => {
    for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version)
    upstream.advise('colors', { affected: ['1.0.0'] })
    upstream.fail(`${listingPath('colors')}/advisories`, failWith(500))
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await changePolicies(app, { advisories: { mode: 'audit' }, minimumAge: { mode: 'enforce' } })
    expect((await member.get(path)).status).toBe(200)
    await changePolicies(app, { advisories: { mode: 'enforce' } })
    expect((await member.get(path)).status).toBe(503)
  })

  it('refuse an archive whose version is no longer listed', async () => {
    for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(`/mirror${archivePath('colors', '1.0.0')}`)
    upstream.package('colors').versions.delete('1.0.0')
    passMinutes(app, 11)
    await member.get(path)
    expect((await member.get(`/mirror${archivePath('colors', '1.0.0')}`)).status).toBe(200)
    await changePolicies(app, { packages: { mode: 'audit', deny: [{ name: 'colors', publisher: null, versions: '<1.1.0' }] } })
    expect((await member.get(`/mirror${archivePath('colors', '1.0.0')}`)).status).toBe(200)
    await changePolicies(app, { packages: { mode: 'enforce' } })
    expect((await member.get(`/mirror${archivePath('colors', '1.0.0')}`)).status).toBe(404)
  })
})
