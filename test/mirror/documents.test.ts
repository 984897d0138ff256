import { describe, expect, it } from 'vitest'
import { listingPath, mirrorClient, mirrorOf, passMinutes } from '../support/mirror.ts'
import { alter } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const path = listingPath('colors')

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.publish('colors', '1.1.0')
  upstream.package('colors').publisher = 'example.com'
  return upstream
}

describe('documents of the mirror', () => {
  it('are sent as editors and update services expect them', async () => {
    const upstream = await upstreamWithColors()
    upstream.discontinue('colors', 'paint')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const read = async (rest: string) => (await member.get(`/mirror${rest}`)).body
    expect(await read(`${path}/score`)).toEqual(upstream.package('colors').score())
    expect(await read(`${path}/options`)).toEqual({ isDiscontinued: true, replacedBy: 'paint', isUnlisted: false })
    expect(await read(`${path}/publisher`)).toEqual({ publisherId: 'example.com' })
    expect(await read('/api/package-name-completion-data')).toEqual({ packages: ['colors'] })
    const listing = await read(path)
    expect(await read(`${path}/versions/1.0.0`)).toEqual(listing.versions[0])
    expect(await read(`${path}/versions/1.1.0`)).toEqual(listing.latest)
    expect((await member.get(`/mirror${path}/versions/9.9.9`)).status).toBe(404)
  })

  it('are requested once, and compared with the upstream server later', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const rest of ['/score', '/options', '/publisher']) {
      for (let times = 0; times < 3; times++) expect((await member.get(`/mirror${path}${rest}`)).status).toBe(200)
      expect(upstream.count(`${path}${rest}`)).toBe(1)
      passMinutes(app, 61)
      await member.get(`/mirror${path}${rest}`)
      expect(upstream.requestsTo(`${path}${rest}`).map(({ status }) => status)).toEqual([200, 304])
    }
  })

  it('are 404 for a package that does not exist upstream', async () => {
    const upstream = await Upstream.start()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const rest of ['/versions/1.0.0', '/advisories', '/score', '/options', '/publisher'])
      expect((await member.get(`/mirror${path}${rest}`)).status, rest).toBe(404)
  })

  it('have advisories with a date that clients accept, even if the upstream server sends none', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { affected: ['1.0.0'] })
    upstream.fail(
      `${path}/advisories`,
      alter((document) => void (document.advisoriesUpdated = null)),
    )
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    expect((await client.advisories('colors')).map(({ id }) => id)).toEqual(['GHSA-aaaa-bbbb-cccc'])
    const [listing, { body }] = [await client.listing('colors'), await member.get(`/mirror${path}/advisories`)]
    expect(Date.parse(body.advisoriesUpdated)).toBeGreaterThanOrEqual(Date.parse(listing.advisoriesUpdated ?? ''))
  })

  it('have advisories that are never older than the listing that announces them', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { affected: ['1.0.0'] })
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    await client.listing('colors')
    await client.advisories('colors')
    // Nine minutes later, the advisories were compared, but not the listing. Then the listing changes first.
    passMinutes(app, 11)
    await client.listing('colors')
    await client.advisories('colors')
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.0.0'], modified: new Date('2025-09-09T09:09:09Z') })
    passMinutes(app, 11)
    const listing = await client.listing('colors')
    expect(listing.advisoriesUpdated).toMatch(/^2025-09-09/)
    expect(await client.advisories('colors')).toHaveLength(2)
  })
})
