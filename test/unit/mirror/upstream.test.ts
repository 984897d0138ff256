import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { PubClient } from '../../support/pub-client.ts'
import { pubGet } from '../../support/pub-get.ts'
import { alter, drip, failWith, pauseAfter, redirectTo, reset, send, truncate, type UpstreamFault } from '../../support/upstream-faults.ts'
import { graphName, graphVersion, publishGraph } from '../../support/upstream-graph.ts'
import { Upstream } from '../../support/upstream.ts'

const clientOf = ({ url }: Upstream) => new PubClient({ hostedUrl: url, address: url })
const path = '/api/packages/colors'

describe('the package server of these tests', () => {
  it('serves a graph of packages that a client resolves and downloads', async () => {
    const upstream = await Upstream.start()
    const dependencies = publishGraph(upstream, 40)
    const { lock, advisories } = await pubGet(clientOf(upstream), dependencies)
    expect(lock).toEqual(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [graphName(index), graphVersion(index)])))
    expect([...advisories]).toEqual([[graphName(1), [expect.objectContaining({ id: 'GHSA-0000-0000-1' })]]])
    expect(upstream.requests.filter(({ path: asked }) => asked.startsWith('/api/archives/'))).toHaveLength(40)
    // A retracted version stays in use while it is in the lockfile.
    const locked = await pubGet(clientOf(upstream), dependencies, { [graphName(3)]: '1.2.1' })
    expect(locked.lock[graphName(3)]).toBe('1.2.1')
  })

  it('sends documents, validators and errors of the same structure as pub.dev', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0', { published: new Date('2025-02-03T04:05:06.789Z') })
    upstream.advise('colors', { affected: ['1.0.0'] })
    upstream.package('colors').publisher = 'example.com'
    const listing = await fetch(`${upstream.url}${path}`)
    const etag = listing.headers.get('etag') ?? ''
    expect(listing.headers.get('content-encoding')).toBe('gzip')
    const document = await listing.json()
    expect(document).toMatchObject({ name: 'colors', latest: { version: '1.0.0', published: '2025-02-03T04:05:06.789000Z' } })
    expect(document).not.toHaveProperty('isDiscontinued')
    expect((await fetch(`${upstream.url}${path}`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect(await json(upstream, `${path}/versions/1.0.0`)).toEqual(document.latest)
    expect(await json(upstream, `${path}/score`)).toMatchObject({ tags: expect.arrayContaining(['publisher:example.com']) })
    expect(await json(upstream, `${path}/options`)).toEqual({ isDiscontinued: false, replacedBy: null, isUnlisted: false })
    expect(await json(upstream, `${path}/publisher`)).toEqual({ publisherId: 'example.com' })
    expect(await json(upstream, `${path}/advisories`)).toMatchObject({ advisoriesUpdated: '2025-03-04T05:06:07.000000Z' })
    expect(await json(upstream, '/api/package-name-completion-data')).toEqual({ packages: ['colors'] })
    expect(await json(upstream, '/api/packages/unknown')).toMatchObject({ error: { code: 'NotFound' }, code: 'NotFound' })
    const archive = await fetch(document.latest.archive_url)
    expect(gunzipSync(await archive.bytes()).toString()).toContain('name: colors')
  })

  it('fails in the requested ways', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    const answer = async (fault: UpstreamFault, target = path) => {
      upstream.fail(target, fault)
      const response = await fetch(`${upstream.url}${target}`, { redirect: 'manual' })
      return { status: response.status, location: response.headers.get('location'), text: await response.text() }
    }
    expect(await answer(failWith(503))).toMatchObject({ status: 503 })
    expect(await answer(redirectTo('http://169.254.169.254/'))).toMatchObject({ status: 302, location: 'http://169.254.169.254/' })
    expect(await answer(send('no JSON'))).toMatchObject({ status: 200, text: 'no JSON' })
    expect(JSON.parse((await answer(alter((listing) => void (listing.name = 'other')))).text)).toMatchObject({ name: 'other' })
    expect((await answer(drip(1), `${path}/publisher`)).text).toBe('{"publisherId":null}')
    await expect(answer(truncate({ declared: true }))).rejects.toThrow()
    await expect(answer(reset)).rejects.toThrow()
    const { fault, started, release } = pauseAfter(10)
    const paused = answer(fault)
    await started
    release()
    expect((await paused).text).toContain('"name":"colors"')
    upstream.heal(path)
    await upstream.stop()
    await expect(fetch(upstream.url)).rejects.toThrow()
    await upstream.listen()
    expect((await fetch(`${upstream.url}${path}`)).status).toBe(200)
  })

  it('holds requests until they are released', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    const { arrived, release } = upstream.hold(path)
    const answer = fetch(`${upstream.url}${path}`)
    await arrived
    upstream.publish('colors', '1.1.0')
    release()
    expect(await (await answer).json()).toMatchObject({ latest: { version: '1.1.0' } })
    expect(upstream.count(path)).toBe(1)
  })
})

const json = async ({ url }: Upstream, target: string) => (await fetch(`${url}${target}`)).json()
