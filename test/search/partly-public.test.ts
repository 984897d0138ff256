import { v7 as newId } from 'uuid'
import { expect, it } from 'vitest'
import { Package } from '../../server/registry/packages/entity.ts'
import { storeDocument } from '../../server/registry/search/index-package.ts'
import { completeIndex } from '../../server/registry/search/rebuild.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import type { ArchiveOptions } from '../support/archive.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const setVisibility = async (actor: Actor, name: string, visibility: 'public' | 'private') => {
  const answer = await actor.put(`/api/packages/${name}/visibility`, { visibility, confirm: name, acceptBreakage: true })
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({ name, status: 200 })
}
const searchNames = async (actor: Actor, query: string, sort = 'relevance') => {
  const { status, body } = await actor.get(`/api/search?q=${encodeURIComponent(query)}&sort=${sort}`)
  expect({ query, status }).toEqual({ query, status: 200 })
  const names = (body.packages as { package: string }[]).map((one) => one.package)
  expect({ query, total: body.totalCount }).toEqual({ query, total: names.length })
  return names
}

/** Returns archive options for a version with this description and further pubspec lines. */
const versionWithDescription = (version: string, description: string, rest: string): ArchiveOptions => ({
  name: 'acme',
  version,
  manifest: `name: acme\nversion: ${version}\ndescription: ${description}\nenvironment:\n  sdk: '>=3.0.0 <4.0.0'\n${rest}`,
})

/** Publishes acme with a public version 1.0.0 and a version 2.0.0 that needs a private package. */
async function publishWithHiddenVersion(app: TestApp) {
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  const older = versionWithDescription('1.0.0', 'Draws many carousels.', 'topics: [carousel]\n')
  await publish(alice, { ...older, files: { 'README.md': 'Old words about ponies.' } })
  await setVisibility(alice, 'acme', 'public')
  const needs = dependent('acme', '2.0.0', ['hidden']).pubspec ?? ''
  const newer = versionWithDescription('2.0.0', 'Draws many skyscrapers.', `topics: [skyscraper]\n${needs}`)
  await publish(alice, { ...newer, files: { 'README.md': 'New words about zebras.' } })
  return alice
}

it('finds a package with hidden versions by its name only', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  for (const query of ['acme', 'acm', 'ACME', 'acme -uploader:me'])
    expect({ query, found: await searchNames(app.anonymous, query) }).toEqual({ query, found: ['acme'] })
  for (const query of [
    '',
    'carousel',
    'ponies',
    'topic:carousel',
    'is:public',
    'sdk:dart acme',
    '-is:flutter acme',
    'acme -topic:carousel',
    'acme -topic:skyscraper',
    'acme skyscraper',
    'skyscraper',
    'zebras',
    'topic:skyscraper',
    'dependency:hidden',
    'is:private',
    'score:>=0',
    'acme score:<=100',
  ])
    expect({ query, found: await searchNames(app.anonymous, query) }).toEqual({ query, found: [] })
  for (const query of ['acme', 'skyscraper', 'zebras', 'topic:skyscraper', 'dependency:hidden'])
    expect({ query, found: await searchNames(alice, query) }).toEqual({ query, found: ['acme'] })
  for (const query of ['carousel', 'ponies', 'topic:carousel'])
    expect({ query, found: await searchNames(alice, query) }).toEqual({ query, found: [] })
  const look =
    '{ completePackageNames(prefix: "ac", first: 9) completeSearch(query: "topic:", first: 9) { label count } typo: searchPackages(query: "acmme", first: 1) { didYouMean } all: searchPackages(query: "acme", first: 9) { totalCount facets { facets { filter values { value count } } } nodes { name description latest { version } } } }'
  const { body } = await app.anonymous.graphql(look)
  expect(body.errors).toBeUndefined()
  expect(body.data).toEqual({
    completePackageNames: [],
    completeSearch: [],
    typo: { didYouMean: [] },
    all: {
      totalCount: 1,
      facets: { facets: [] },
      nodes: [{ name: 'acme', description: 'Draws many carousels.', latest: { version: '1.0.0' } }],
    },
  })
})

it('follows changes of visibility immediately', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  await setVisibility(alice, 'hidden', 'public')
  expect(await searchNames(app.anonymous, 'skyscraper')).toEqual(['acme'])
  expect(await searchNames(app.anonymous, 'carousel')).toEqual([])
  await setVisibility(alice, 'hidden', 'private')
  expect(await searchNames(app.anonymous, 'skyscraper')).toEqual([])
  expect(await searchNames(app.anonymous, 'acme')).toEqual(['acme'])
  await publish(alice, versionWithDescription('1.5.0', 'Draws many bridges.', ''))
  expect([
    await searchNames(app.anonymous, 'bridges'),
    await searchNames(app.anonymous, 'acme'),
    await searchNames(alice, 'bridges'),
  ]).toEqual([[], ['acme'], []])
  await alice.put('/api/packages/acme/options', { isUnlisted: true })
  expect(await searchNames(app.anonymous, 'acme')).toEqual([])
  await alice.put('/api/packages/acme/options', { isUnlisted: false })
  expect(await searchNames(app.anonymous, 'acme')).toEqual(['acme'])
  await setVisibility(alice, 'acme', 'private')
  expect(await searchNames(app.anonymous, 'acme')).toEqual([])
})

it('finds a package in full after its hidden versions were deleted, and not at all without readable versions', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  const admin = await app.admin()
  await publish(alice, dependent('acme', '3.0.0', ['hidden']))
  const remove = async (version: string) =>
    expect((await admin.delete(`/api/admin/packages/acme/versions/${version}?acceptBreakage=true`)).status).toBe(200)
  await remove('3.0.0')
  expect(await searchNames(app.anonymous, 'acme')).toEqual(['acme'])
  expect(await searchNames(app.anonymous, 'skyscraper')).toEqual([])
  await publish(alice, versionWithDescription('4.0.0', 'Draws many bridges.', ''))
  await remove('2.0.0')
  expect(await searchNames(app.anonymous, 'bridges')).toEqual(['acme'])
  await publish(alice, dependent('acme', '5.0.0', ['hidden']))
  await remove('1.0.0')
  await remove('4.0.0')
  expect(await searchNames(app.anonymous, 'acme')).toEqual([])
  expect(await searchNames(alice, 'acme')).toEqual(['acme'])
})

it('never reveals a package that an earlier release made private or whose visibility it indexed by its own rules', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  await publish(alice, { name: 'whole', version: '1.0.0' })
  await makePublic(app, 'whole')
  const index = () => app.services.database.reads.all('select name, shown_to from package_search_documents order by name')
  const right = await index()
  const em = app.services.database.fork()
  for (const wrong of [
    "update package_search_documents set shown_to = 2 where name = 'acme'",
    "update package_search_documents set shown_to = 1 where name = 'whole'",
    "delete from package_search_documents where name = 'acme'",
  ]) {
    await em.execute(wrong)
    expect(await index()).not.toEqual(right)
    await completeIndex(app.services)
    expect(await index()).toEqual(right)
  }
  expect(await searchNames(app.anonymous, 'acme')).toEqual(['acme'])
  await em.execute("update packages set visibility = 'private' where name = 'acme'")
  for (const query of ['', 'acme', 'carousel', 'topic:carousel']) expect(await searchNames(app.anonymous, query)).not.toContain('acme')
})

it('reveals nothing of hidden versions: retraction, publication date, score or downloads', async () => {
  const start = Date.UTC(2026, 0, 1)
  await using app = await publicApp({ now: new Date(start) })
  const at = (days: number) => (app.clock.now = new Date(start + days * 86_400_000))
  const alice = await app.member()
  for (const name of ['hidden', 'kit_one', 'kit_two', 'kit_open']) await publish(alice, { name, version: '1.0.0' })
  for (const name of ['kit_one', 'kit_two', 'kit_open']) await setVisibility(alice, name, 'public')
  for (const name of ['kit_one', 'kit_two']) await publish(alice, dependent(name, '0.9.0', ['hidden']))
  const orders = async () => {
    const names: Record<string, string[]> = {}
    for (const sort of ['updated', 'created', 'downloads', 'score', 'likes', 'name', 'relevance'])
      names[sort] = await searchNames(app.anonymous, 'kit', sort)
    return names
  }
  const before = await orders()
  expect(before.updated?.[0]).toBe('kit_open')
  at(2)
  const em = app.services.database.fork()
  const latest = async (name: string) => {
    await publish(alice, dependent(name, '2.0.0', ['hidden']))
    await alice.put(`/api/packages/${name}/versions/2.0.0/options`, { isRetracted: true })
    await em.execute(`update package_search_documents set downloads = 100, score = 90, created_at = 1 where name = '${name}'`)
    expect(await orders()).toEqual(before)
  }
  await latest('kit_two')
  await latest('kit_one')
  expect(await searchNames(app.anonymous, 'is:retracted')).toEqual([])
  expect(await searchNames(app.anonymous, 'kit_one -is:retracted')).toEqual([])
  expect((await searchNames(alice, 'is:retracted')).toSorted()).toEqual(['kit_one', 'kit_two'])
  const times = async (actor: Actor) => (await actor.graphql('{ package(name: "kit_one") { createdAt updatedAt } }')).body.data.package
  expect(await times(app.anonymous)).toEqual({ createdAt: new Date(start).toISOString(), updatedAt: new Date(start).toISOString() })
  expect((await times(alice)).updatedAt).toBe(new Date(start + 2 * 86_400_000).toISOString())
})

it('pages through packages found in full and by name as one list', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  const names = Array.from({ length: 9 }, (_, index) => `pkg_${index}`)
  for (const [index, name] of names.entries()) {
    await publish(alice, { name, version: '1.0.0' })
    await setVisibility(alice, name, 'public')
    if (index % 3 === 0) await publish(alice, dependent(name, '2.0.0', ['hidden']))
  }
  const whole = names.filter((_, index) => index % 3 !== 0)
  for (const [query, expected] of [
    ['', whole],
    ['pkg', names],
    ['sdk:dart', whole],
  ] as const)
    for (const sort of ['NAME', 'CREATED', 'UPDATED', 'DOWNLOADS', 'SCORE', 'RELEVANCE']) {
      const { seen, total } = await findAll(app, query, sort, 2)
      expect({ query, sort, total, seen: seen.toSorted() }).toEqual({ query, sort, total: expected.length, seen: expected })
      if (sort === 'NAME') expect(seen).toEqual(expected)
      if (sort === 'CREATED') expect(seen.slice(0, 6)).toEqual(whole.toReversed())
    }
})

it('shows each of many matches on exactly one page', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['hidden', 'pkg_partly']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'pkg_partly')
  await publish(alice, dependent('pkg_partly', '2.0.0', ['hidden']))
  const names = Array.from({ length: 230 }, (_, index) => `pkg_${index}`)
  await app.services.database.fork().transactional(async (em) => {
    const [description, at] = ['', new Date()]
    for (const name of names) {
      const packageId = newId()
      em.create(Package, { id: packageId, name, description, latestVersion: '1.0.0', visibility: 'public', createdAt: at, updatedAt: at })
      await em.flush()
      const texts = { description, topics: [], readme: null, tags: ['is:public'] as const }
      await storeDocument(em, { packageId, name, ...texts, shownTo: 2, createdAt: at, updatedAt: at })
    }
  })
  const { seen, total } = await findAll(app, 'pkg', 'RELEVANCE', 50)
  expect(total).toBe(231)
  expect(seen.toSorted()).toEqual([...names, 'pkg_partly'].toSorted())
})

type Page = { nodes: { name: string }[]; totalCount: number; pageInfo: { endCursor: string; hasNextPage: boolean } }

/** Returns the names that an anonymous caller finds, page by page, and the total of the last page. */
async function findAll(app: TestApp, query: string, sort: string, first: number): Promise<{ seen: string[]; total: number }> {
  const seen: string[] = []
  for (let after: string | null = null; ;) {
    const { body }: { body: { data: { searchPackages: Page } } } = await app.anonymous.graphql(
      `query ($after: String, $query: String) { searchPackages(first: ${first}, after: $after, sort: ${sort}, query: $query) { nodes { name } totalCount pageInfo { endCursor hasNextPage } } }`,
      { after, query },
      { ip: app.address() },
    )
    const { nodes, totalCount, pageInfo } = body.data.searchPackages
    seen.push(...nodes.map(({ name }) => name))
    if (!pageInfo.hasNextPage) return { seen, total: totalCount }
    after = pageInfo.endCursor
  }
}
