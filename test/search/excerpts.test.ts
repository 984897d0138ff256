import { expect, it } from 'vitest'
import { reviewExcerpts } from '../../server/registry/search/complete-excerpts.ts'
import { completeIndex, storedFormat } from '../../server/registry/search/rebuild.ts'
import { refreshIndex } from '../../server/registry/search/refresh-index.ts'
import { writeSetting } from '../../server/platform/settings/service.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import type { ArchiveOptions } from '../support/archive.ts'
import { runJobs } from '../support/jobs.ts'
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

it('finds a package by the newest version that the user may read', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  for (const query of [
    '',
    'acme',
    'acm',
    'carousel',
    'ponies',
    'topic:carousel',
    'topic:carousel is:public',
    'sdk:dart',
    '-is:flutter acme',
  ])
    expect({ query, found: await searchNames(app.anonymous, query) }).toEqual({ query, found: ['acme'] })
  for (const query of ['skyscraper', 'zebras', 'topic:skyscraper', 'dependency:hidden', 'acme -topic:carousel', 'is:private', 'score:>=0'])
    expect({ query, found: await searchNames(app.anonymous, query) }).toEqual({ query, found: [] })
  for (const query of ['acme', 'skyscraper', 'zebras', 'topic:skyscraper', 'dependency:hidden'])
    expect({ query, found: await searchNames(alice, query) }).toEqual({ query, found: ['acme'] })
  for (const query of ['carousel', 'ponies', 'topic:carousel'])
    expect({ query, found: await searchNames(alice, query) }).toEqual({ query, found: [] })
  const look =
    '{ completePackageNames(prefix: "ac", first: 9) completeSearch(query: "topic:", first: 9) { label count } typo: searchPackages(query: "acmme", first: 1) { didYouMean } all: searchPackages(first: 9) { totalCount facets { facets { filter values { value count } } } nodes { name description latest { version } } } }'
  const { body } = await app.anonymous.graphql(look)
  expect(body.errors).toBeUndefined()
  expect(body.data).toMatchObject({
    completePackageNames: ['acme'],
    completeSearch: [{ label: 'topic:carousel', count: 1 }],
    typo: { didYouMean: ['acme'] },
    all: { totalCount: 1, nodes: [{ name: 'acme', description: 'Draws many carousels.', latest: { version: '1.0.0' } }] },
  })
  expect(JSON.stringify(body)).not.toMatch(/skyscraper|hidden|zebra/)
})

it('follows changes of visibility', async () => {
  await using app = await publicApp()
  const alice = await publishWithHiddenVersion(app)
  await setVisibility(alice, 'hidden', 'public')
  expect(await searchNames(app.anonymous, 'skyscraper')).toEqual(['acme'])
  expect(await searchNames(app.anonymous, 'carousel')).toEqual([])
  await setVisibility(alice, 'hidden', 'private')
  // Hidden text stops matching immediately. The older version matches once the job has run.
  expect(await searchNames(app.anonymous, 'skyscraper')).toEqual([])
  await runJobs(app)
  expect(await searchNames(app.anonymous, 'carousel')).toEqual(['acme'])
  await publish(alice, versionWithDescription('1.5.0', 'Draws many bridges.', ''))
  expect([
    await searchNames(app.anonymous, 'bridges'),
    await searchNames(app.anonymous, 'carousel'),
    await searchNames(alice, 'bridges'),
  ]).toEqual([['acme'], [], []])
  await alice.put('/api/packages/acme/options', { isUnlisted: true })
  expect(await searchNames(app.anonymous, 'bridges')).toEqual([])
  await alice.put('/api/packages/acme/options', { isUnlisted: false })
  expect(await searchNames(app.anonymous, 'bridges')).toEqual(['acme'])
  await setVisibility(alice, 'acme', 'private')
  expect(await searchNames(app.anonymous, '')).toEqual([])
})

it('is created by a rebuild, too, and never reveals a package that an earlier version made private', async () => {
  await using app = await publicApp()
  await publishWithHiddenVersion(app)
  const em = app.services.database.fork()
  await em.execute('delete from package_search_excerpts')
  expect(await searchNames(app.anonymous, 'carousel')).toEqual([])
  await em.transactional((inner) => writeSetting(inner, storedFormat, 3))
  await completeIndex(app.services)
  expect(await searchNames(app.anonymous, 'carousel')).toEqual(['acme'])
  await em.execute("update packages set visibility = 'private' where name = 'acme'")
  for (const query of ['', 'acme', 'carousel', 'topic:carousel']) expect(await searchNames(app.anonymous, query)).toEqual([])
})

it('reveals nothing of hidden versions: retraction, publication date or downloads', async () => {
  const start = Date.UTC(2026, 0, 1)
  await using app = await publicApp({ now: new Date(start) })
  const at = (days: number) => (app.clock.now = new Date(start + days * 86_400_000))
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  at(1)
  await publish(alice, { name: 'other', version: '1.0.0' })
  for (const name of ['acme', 'other']) await setVisibility(alice, name, 'public')
  const order = (sort: string) => searchNames(app.anonymous, '', sort)
  expect(await order('updated')).toEqual(['other', 'acme'])
  at(2)
  await publish(alice, dependent('acme', '0.9.0', ['hidden']))
  await publish(alice, dependent('acme', '2.0.0', ['hidden']))
  await alice.put('/api/packages/acme/versions/2.0.0/options', { isRetracted: true })
  expect(await order('updated')).toEqual(['other', 'acme'])
  expect(await searchNames(app.anonymous, 'is:retracted')).toEqual([])
  expect(await searchNames(alice, 'is:retracted')).toEqual(['acme'])
  expect(await searchNames(app.anonymous, 'acme -is:retracted')).toEqual(['acme'])
  const times = async (actor: Actor) => (await actor.graphql('{ package(name: "acme") { createdAt updatedAt } }')).body.data.package
  expect(await times(app.anonymous)).toEqual({ createdAt: new Date(start).toISOString(), updatedAt: new Date(start).toISOString() })
  expect((await times(alice)).updatedAt).toBe(new Date(start + 2 * 86_400_000).toISOString())
  const em = app.services.database.fork()
  const day = Math.floor((app.clock.now?.getTime() ?? 0) / 86_400_000)
  const count = (version: string, downloads: number) =>
    em.execute(
      `insert into version_downloads (version_id, day, downloads) select v.id, ${day}, ${downloads} from package_versions v join packages p on p.id = v.package_id where p.name = 'acme' and v.version = '${version}'`,
    )
  await em.execute("update package_search_documents set downloads = 100 where name = 'acme'")
  await em.execute("update package_search_documents set downloads = 5 where name = 'other'")
  await count('2.0.0', 97)
  await count('1.0.0', 3)
  await reviewExcerpts(app.services)
  expect(await order('downloads')).toEqual(['other', 'acme'])
  expect(await searchNames(alice, 'is:public', 'downloads')).toEqual(['acme', 'other'])
})

it('pages through full entries and excerpts as one list', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  const names = Array.from({ length: 9 }, (_, index) => `pkg_${index}`)
  for (const [index, name] of names.entries()) {
    await publish(alice, { name, version: '1.0.0' })
    await setVisibility(alice, name, 'public')
    if (index % 3 === 0) await publish(alice, dependent(name, '2.0.0', ['hidden']))
  }
  for (const query of ['', 'pkg', 'sdk:dart'])
    for (const sort of ['NAME', 'CREATED', 'UPDATED', 'DOWNLOADS', 'SCORE', 'RELEVANCE']) {
      const seen: string[] = []
      let after: string | null = null
      do {
        const {
          body,
        }: {
          body: {
            data: {
              searchPackages: { nodes: { name: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean }; totalCount: number }
            }
          }
        } = await app.anonymous.graphql(
          `query ($after: String, $query: String) { searchPackages(first: 2, after: $after, sort: ${sort}, query: $query) { nodes { name } totalCount pageInfo { endCursor hasNextPage } } }`,
          { after, query },
          { ip: app.address() },
        )
        const page = body.data.searchPackages
        expect(page.totalCount).toBe(9)
        seen.push(...page.nodes.map(({ name }) => name))
        after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
      } while (after)
      expect({ query, sort, seen: seen.toSorted() }).toEqual({ query, sort, seen: names })
      if (sort === 'NAME') expect(seen).toEqual(names)
      if (sort === 'CREATED') expect(seen).toEqual(names.toReversed())
    }
})

it('handles changes to a package whose excerpt is being created', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['hidden', 'acme']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'acme')
  await publish(alice, dependent('acme', '2.0.0', ['hidden']))
  const em = app.services.database.fork()
  const [row] = await em.execute<{ id: string }[]>("select id from packages where name = 'acme'")
  for (let round = 0; round < 20; round++) {
    await em.execute('delete from package_search_excerpts')
    const [answer] = await Promise.all([
      alice.put('/api/packages/acme/options', { isDiscontinued: round % 2 === 0 }),
      app.services.database.fork().transactional((inner) => refreshIndex(inner, app.config, row?.id ?? '')),
    ])
    expect(answer).toMatchObject({ status: 200 })
  }
  expect(await app.services.database.reads.all('select id from package_search_excerpts')).toHaveLength(1)
})

it('repairs entries that the previous release or a failed job left inconsistent', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['hidden', 'dep', 'acme', 'whole']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'dep', 'acme', 'whole')
  for (const [version, needed] of [
    ['1.1.0', 'dep'],
    ['2.0.0', 'hidden'],
  ] as const)
    await publish(alice, dependent('acme', version, [needed]))
  const index = () =>
    app.services.database.reads.all(
      'select d.name, d.shown_to, e.downloads from package_search_documents d left join package_search_excerpts e on e.id = d.id order by d.name',
    )
  const right = await index()
  const em = app.services.database.fork()
  for (const wrong of [
    'delete from package_search_excerpts',
    "update package_search_documents set shown_to = 2 where name = 'acme'",
    "update package_search_documents set shown_to = 1 where name = 'whole'",
    'update package_search_excerpts set downloads = 5',
  ]) {
    await em.execute(wrong)
    expect(await index()).not.toEqual(right)
    await reviewExcerpts(app.services)
    expect(await index()).toEqual(right)
  }
  const written = await app.countQueries(() => reviewExcerpts(app.services))
  expect(written).toBe(2) // One query for the entries and one that finds none left.
})
