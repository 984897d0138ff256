import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { Upstream } from '../support/upstream.ts'
import { failWith } from '../support/upstream-faults.ts'

const start = new Date('2026-11-26T12:00:00Z')
const day = 86_400_000
const listingOf = (name: string) => `/mirror/api/packages/${name}`
const list = async (actor: Actor, page = 'first: 10') =>
  (
    await actor.graphql(
      `{ mirroredPackages(${page}) { totalCount pageInfo { endCursor } nodes { name archives bytes usedAt checkedAt failure { at reason } } } }`,
    )
  ).body.data.mirroredPackages
const names = (page: { nodes: { name: string }[] }) => page.nodes.map(({ name }) => name)
const mutate = async (actor: Actor, mutation: string, name: string) =>
  (
    await actor.graphql(
      `mutation ($name: String!) { ${mutation}(input: { name: $name }) ${mutation.startsWith('refresh') ? '{ package { name checkedAt failure { reason } } }' : ''} }`,
      { name },
    )
  ).body

it('lists what is in the mirror by last use, and counts reads and hits', async () => {
  const upstream = await Upstream.start()
  for (const name of ['alpha', 'beta', 'gamma']) upstream.publish(name, '1.0.0')
  await using app = await testApp({ alone: true, env: { UPSTREAM_URL: upstream.url, UPSTREAM_NEVER: 'acme_*' }, now: start })
  const [admin, viewer] = [await app.admin(), await app.viewer()]
  for (const [index, name] of ['alpha', 'beta', 'gamma'].entries()) {
    app.clock.now = new Date(start.getTime() + index * day)
    expect((await viewer.get(listingOf(name))).status).toBe(200)
    if (name === 'beta') expect((await viewer.get('/mirror/api/archives/beta-1.0.0.tar.gz')).status).toBe(200)
  }
  expect((await viewer.get(listingOf('unknown_name'))).status).toBe(404)
  const all = await list(admin)
  expect(names(all)).toEqual(['gamma', 'beta', 'alpha'])
  expect(all.totalCount).toBe(3)
  expect(all.nodes[1]).toMatchObject({ archives: 1, usedAt: expect.any(String), failure: null })
  const first = await list(admin, 'first: 2')
  expect(names(await list(admin, `first: 2, after: "${first.pageInfo.endCursor}"`))).toEqual(['alpha'])
  expect(names(await list(admin, 'first: 2, offset: 1'))).toEqual(['beta', 'alpha'])
  expect(names(await list(admin, 'first: 2, q: "ET"'))).toEqual(['beta'])
  await viewer.get(listingOf('gamma'))
  const { mirror } = (
    await admin.graphql(
      '{ mirror { ttlSeconds excludedNames cache { bytes limitBytes listings archives reads hits } health { requests failures isReachable meanMs } } }',
    )
  ).body.data
  expect(mirror).toMatchObject({
    ttlSeconds: 600,
    excludedNames: ['acme_*'],
    cache: { listings: 3, archives: 1, hits: expect.any(Number) },
    health: { failures: 0, isReachable: true, meanMs: expect.any(Number) },
  })
  expect(mirror.cache.hits).toBeGreaterThan(0)
  expect(mirror.cache.reads).toBeGreaterThan(mirror.cache.hits)
  expect(mirror.health.requests).toBe(upstream.count())
  const refused = await viewer.graphql('{ mirror { cache { bytes } } }')
  expect(refused.body.errors[0].extensions.code).toBe('InsufficientPermissions')
})

it('refreshes and removes a package, with an audit entry, and shows a failed request', async () => {
  const upstream = await Upstream.start()
  upstream.publish('alpha', '1.0.0')
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url }, now: start })
  const admin = await app.admin()
  await admin.get(listingOf('alpha'))
  app.clock.now = new Date(start.getTime() + 60_000)
  upstream.publish('alpha', '2.0.0')
  expect((await mutate(admin, 'refreshMirroredPackage', 'alpha')).data.refreshMirroredPackage.package).toMatchObject({
    checkedAt: '2026-11-26T12:01:00.000Z',
    failure: null,
  })
  expect((await admin.get(listingOf('alpha'))).body.latest.version).toBe('2.0.0')
  app.clock.now = new Date(start.getTime() + 120_000)
  upstream.fail('/api/packages/alpha', failWith(500))
  expect((await mutate(admin, 'refreshMirroredPackage', 'alpha')).data.refreshMirroredPackage.package.failure.reason).toContain('500')
  expect((await list(admin)).nodes[0].failure).toMatchObject({ at: '2026-11-26T12:02:00.000Z' })
  expect((await mutate(admin, 'removeMirroredPackage', 'alpha')).data).toEqual({ removeMirroredPackage: true })
  expect((await list(admin)).totalCount).toBe(0)
  for (const mutation of ['removeMirroredPackage', 'refreshMirroredPackage'])
    expect((await mutate(admin, mutation, 'alpha')).errors[0].extensions.code).toBe('NotFound')
  const { auditEntries } = (await admin.graphql('{ auditEntries(first: 5) { nodes { summary } } }')).body.data
  const summaries = auditEntries.nodes.map(({ summary }: { summary: string }) => summary)
  expect(summaries).toContainEqual(expect.stringMatching(/ removed alpha from the mirror$/))
  expect(summaries.filter((summary: string) => summary.endsWith(' refreshed alpha in the mirror'))).toHaveLength(2)
})
