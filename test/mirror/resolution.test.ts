import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { changePolicies, listingPath, mirrorClient, mirrorOf, passMinutes, publishOwn } from '../support/mirror.ts'
import { freePort } from '../support/free-port.ts'
import { pubGet } from '../support/pub-get.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { graphName, graphVersion, publishGraph } from '../support/upstream-graph.ts'
import { Upstream } from '../support/upstream.ts'

/** Returns the paths that were requested more than once. */
const repeated = ({ requests }: Upstream) => requests.map(({ path }) => path).filter((path, index, all) => all.indexOf(path) !== index)

describe('a client that only knows the mirror', () => {
  it('resolves and downloads 200 packages, also from the cache while the upstream server is stopped', async () => {
    const upstream = await Upstream.start()
    const dependencies = publishGraph(upstream, 200)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const first = await pubGet(mirrorClient(await app.listen(), member.secret), dependencies)
    expect(first.lock).toEqual(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [graphName(index), graphVersion(index)])))
    expect(first.advisories.size).toBe(5)
    for (const [name, archive] of first.archives)
      expect(archive.equals(await upstream.version(name, first.lock[name] ?? '').archive()), name).toBe(true)
    expect(repeated(upstream)).toEqual([])

    await upstream.stop()
    passMinutes(app, 60 * 24)
    await app.stop()
    await using restarted = await testApp({ sameDatabaseAs: app })
    const again = await pubGet(mirrorClient(await restarted.listen(), member.secret), dependencies, {})
    expect(again.lock).toEqual(first.lock)
    for (const [name, archive] of again.archives) expect(first.archives.get(name)?.equals(archive), name).toBe(true)
    expect(Object.fromEntries(again.advisories)).toEqual(Object.fromEntries(first.advisories))
  })

  it('gets the same from another Snug as the upstream server', async () => {
    const port = await freePort()
    const address = `http://127.0.0.1:${port}`
    await using origin = await publicApp({ alone: true, env: { SERVER_URL: address } })
    await origin.http.listen({ host: '127.0.0.1', port })
    const author = await origin.member()
    const archives = new Map<string, Buffer>()
    for (const [name, dependency] of [
      ['leaf', ''],
      ['branch', 'leaf'],
      ['tree', 'branch'],
    ] as const) {
      const pubspec = dependency && `dependencies:\n  ${dependency}: ^1.0.0\n`
      for (const version of ['1.0.0', '1.1.0', '1.2.0'])
        archives.set(`${name} ${version}`, await publish(author, await packageArchive({ name, version, pubspec })))
    }
    await makePublic(origin, 'leaf', 'branch', 'tree')
    await author.put('/api/packages/leaf/versions/1.2.0/options', { isRetracted: true })
    await using app = await testApp({ env: { UPSTREAM_URL: address } })
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    const { lock, archives: received } = await pubGet(client, { tree: '^1.0.0' })
    expect(lock).toEqual({ tree: '1.2.0', branch: '1.2.0', leaf: '1.1.0' })
    for (const [name, archive] of received) expect(archives.get(`${name} ${lock[name]}`)?.equals(archive), name).toBe(true)
    await origin.stop()
    expect((await pubGet(client, { tree: '^1.0.0' }, lock)).lock).toEqual(lock)
  })

  it('does not choose a version that was published a minute ago, but keeps it if the lockfile has it', async () => {
    const upstream = await Upstream.start()
    const now = new Date('2026-05-06T07:08:09Z')
    upstream.publish('colors', '1.0.0')
    upstream.publish('colors', '1.1.0', { published: new Date(now.getTime() - 60_000) })
    await using app = await mirrorOf(upstream, { now })
    await changePolicies(app, { minimumAge: { mode: 'enforce', days: 7 } })
    const client = mirrorClient(await app.listen(), (await app.member()).secret)
    expect((await pubGet(client, { colors: '^1.0.0' })).lock).toEqual({ colors: '1.0.0' })
    expect((await client.listing('colors')).latest.version).toBe('1.0.0')
    const locked = await pubGet(client, { colors: '^1.0.0' }, { colors: '1.1.0' })
    expect(locked.lock).toEqual({ colors: '1.1.0' })
    expect(locked.archives.get('colors')?.equals(await upstream.version('colors', '1.1.0').archive())).toBe(true)
    passMinutes(app, 7 * 24 * 60)
    expect((await pubGet(client, { colors: '^1.0.0' })).lock).toEqual({ colors: '1.1.0' })
  })

  it('never takes a private name with a higher version upstream', async () => {
    const upstream = await Upstream.start()
    upstream.publish('our_widgets', '99.0.0')
    upstream.publish('colors', '1.0.0', { dependencies: { our_widgets: 'any' } })
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await publishOwn(app, member, { name: 'our_widgets', version: '1.0.0' })
    const client = mirrorClient(await app.listen(), member.secret)
    const hosted = 'our_widgets is hosted here: write "hosted: http://localhost:8080" for this dependency in pubspec.yaml.'
    await expect(pubGet(client, { our_widgets: '^1.0.0' })).rejects.toMatchObject({ status: 403, message: hosted })
    await expect(pubGet(client, { colors: '^1.0.0' })).rejects.toMatchObject({ status: 403, message: hosted })
    expect(client.hasToken).toBe(true)
    expect(upstream.mentions('our_widgets')).toBe(false)
  })

  it('shows advisories, and reads them only if the listing announces them', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    upstream.publish('shapes', '1.0.0')
    upstream.advise('colors', { affected: ['1.0.0'] })
    await using app = await mirrorOf(upstream)
    const client = mirrorClient(await app.listen(), (await app.member()).secret)
    const { advisories } = await pubGet(client, { colors: 'any', shapes: 'any' })
    expect([...advisories.keys()]).toEqual(['colors'])
    expect(advisories.get('colors')).toEqual(upstream.package('colors').advisories)
    expect(upstream.count(`${listingPath('shapes')}/advisories`)).toBe(0)
    // An advisory that appears later is shown with the listing that announces it.
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.0.0'], modified: new Date('2025-09-09T09:09:09Z') })
    passMinutes(app, 11)
    const later = await pubGet(client, { colors: 'any' })
    expect(later.advisories.get('colors')?.map(({ id }) => id)).toEqual(['GHSA-aaaa-bbbb-cccc', 'GHSA-dddd-eeee-ffff'])
  })

  it('is refused to publish, with the address to publish to', async () => {
    const upstream = await Upstream.start()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    await expect(client.publish(await packageArchive({ name: 'acme', version: '1.0.0' }))).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/^Publish to http:\/\/localhost:8080: set "?publish_to/),
    })
    expect(client.hasToken).toBe(true)
    expect(upstream.count()).toBe(0)
    expect((await member.get('/api/packages/acme')).status).toBe(404)
  })
})
