import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { MirrorEntry } from '../../server/registry/mirror/entity.ts'
import { readRows } from '../../server/platform/db/statements.ts'
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

it('pages through packages with many entries by the last use of what is kept', async () => {
  const upstream = await Upstream.start()
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url }, now: start })
  const [admin, em] = [await app.admin(), app.services.database.fork()]
  const lastUse = new Map<string, number>()
  const insert = async (name: string, version: string, minute: number, kept: { sha256?: string; failure?: string }) => {
    const { sha256 = null, failure = null } = kept
    await em.insert(MirrorEntry, {
      key: `archive:${name}:${version}`,
      kind: 'archive',
      name,
      version,
      sha256,
      failure,
      usedAt: new Date(start.getTime() + minute * 60_000),
      failedAt: failure === null ? null : start,
    })
    if (sha256 ?? failure) lastUse.set(name, Math.max(lastUse.get(name) ?? 0, minute))
  }
  for (let index = 0; index < 40; index++) {
    const name = `package_${String(index).padStart(2, '0')}`
    // Some packages are used at the same time, and all versions of some.
    for (let version = 0; version < 5; version++)
      await insert(
        name,
        `1.0.${version}`,
        (index % 7) * (version % 3),
        index % 5 === 0 ? { failure: 'HTTP 500' } : { sha256: 'a'.repeat(64) },
      )
    await insert(name, '2.0.0', 999, {})
  }
  await insert('never_fetched', '1.0.0', 500, {})
  const expected = [...lastUse].toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1)).map(([name]) => name)
  const paged: string[] = []
  for (let after: string | null = ''; after !== null;) {
    const page = await list(admin, `first: 7${after && `, after: "${after}"`}`)
    expect(page.totalCount).toBe(40)
    paged.push(...names(page))
    after = page.nodes.length < 7 ? null : page.pageInfo.endCursor
  }
  expect(paged).toEqual(expected)
  const numbered = await list(admin, 'first: 7, offset: 20')
  expect(names(numbered)).toEqual(expected.slice(20, 27))
  expect(numbered.nodes[0].usedAt).toBe(new Date(start.getTime() + 60_000 * (lastUse.get(expected[20] ?? '') ?? 0)).toISOString())
  if (app.config.DB_BACKEND !== 'sqlite') return // With so few rows, PostgreSQL reads the table.
  const sql = app.queries.findLast((one) => one.includes('order by "e"."used_at" desc')) ?? ''
  const plan = await readRows<{ detail: string }>(em, `explain query plan ${sql}`, sql.match(/\?/g)?.map(() => 1) ?? [])
  expect(plan.map(({ detail }) => detail).filter((detail) => detail.includes('INDEX'))).toEqual([
    expect.stringMatching(/e USING INDEX mirror_entries_kept_by_use/),
    expect.stringMatching(/SEARCH o USING INDEX mirror_entries_kept_by_name/),
  ])
})
