import { expect, it } from 'vitest'
import { changePackage } from '../server/packages/changes/change-package.ts'
import { Package } from '../server/packages/entity.ts'
import { canChangeOptions } from '../server/packages/policy.ts'
import { Publisher, PublisherMember } from '../server/publishers/entity.ts'
import { checkSearch } from '../server/search/health.ts'
import { completeIndex, storedForm } from '../server/search/rebuild.ts'
import { refreshIndex } from '../server/search/refresh-index.ts'
import { completeQuery, searchPackages } from '../server/search/service.ts'
import { writeSetting } from '../server/settings/service.ts'
import { User } from '../server/users/entity.ts'
import type { Actor } from './actor.ts'
import { type TestApp, testApp } from './app.ts'
import { publish } from './support/publish.ts'

const mit =
  'MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software ("Software"), to deal in it.\n\nThe above copyright notice and this permission notice shall be included in all copies.'

/** Three packages: a Dart one, one for Flutter, and a plugin. */
async function stocked(app: TestApp) {
  const alice = await app.member()
  await publish(alice, {
    name: 'plain',
    version: '1.0.0',
    pubspec: 'topics: [state-management]\ndependencies:\n  http: ^1.0.0\n',
    files: { LICENSE: mit },
  })
  await publish(alice, {
    name: 'fancy',
    version: '1.0.0',
    pubspec: 'dependencies:\n  flutter:\n    sdk: flutter\nplatforms:\n  web:\n  linux:\n',
  })
  await publish(alice, {
    name: 'camera',
    version: '1.0.0',
    pubspec:
      'dependencies:\n  flutter:\n    sdk: flutter\nflutter:\n  plugin:\n    platforms:\n      android:\n        package: a.b\n        pluginClass: C\n      ios:\n        pluginClass: C\n',
  })
  return alice
}

async function find(actor: Actor, q: string): Promise<string[]> {
  const { status, body } = await actor.get(`/api/search?q=${encodeURIComponent(q)}&sort=name`)
  expect({ q, status }).toEqual({ q, status: 200 })
  return (body.packages as { package: string }[]).map((found) => found.package)
}

/** Changes a package's row as a feature does. */
async function change(
  app: TestApp,
  name: string,
  changes: Partial<Pick<Package, 'isUnlisted' | 'visibility' | 'isDiscontinued'>> & { publisher?: string },
) {
  await app.services.database.fork().transactional(async (em) => {
    const pkg = await em.findOneOrFail(Package, { name })
    const { publisher, ...rest } = changes
    em.assign(pkg, { ...rest, ...(publisher && { publisher: em.getReference(Publisher, publisher) }) })
    await em.flush()
    await refreshIndex(em, app.config, pkg.id)
  })
}

async function makePublisher(app: TestApp, id: string, admin: Actor) {
  const em = app.services.database.fork()
  const publisher = em.create(Publisher, { id, displayName: id })
  em.create(PublisherMember, { publisher, user: em.getReference(User, admin.id), role: 'admin' })
  await em.flush()
}

it('filters by what a pubspec says', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  for (const [query, expected] of Object.entries({
    'sdk:dart': ['plain'],
    'sdk:flutter': ['camera', 'fancy', 'plain'],
    'platform:web': ['fancy'],
    'platform:android': ['camera'],
    'platform:android platform:web': [],
    'topic:state-management': ['plain'],
    'topic:"state management"': ['plain'],
    'license:mit': ['plain'],
    'license:MIT license:unknown': ['camera', 'fancy', 'plain'],
    'dependency:http': ['plain'],
    'dependency:flutter': ['camera', 'fancy'],
    'is:flutter': ['camera', 'fancy'],
    'is:plugin': ['camera'],
    'is:flutter -is:plugin': ['fancy'],
    '-is:plugin': ['fancy', 'plain'],
    'IS:Plugin Camera': ['camera'],
    'is:plugin fancy': [],
    'is:public': [],
    'is:private': ['camera', 'fancy', 'plain'],
    'uploader:me': ['camera', 'fancy', 'plain'],
    [`uploader:${alice.email.toUpperCase()} fancy`]: ['fancy'],
    'uploader:nobody@example.com': [],
    '-uploader:nobody@example.com is:plugin': ['camera'],
  }))
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: expected })
})

it('takes an unknown prefix, an unknown flag and an open quote for text', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'colour_wheel', version: '1.0.0', files: { 'README.md': 'colour:red is:nice topic' } })
  for (const query of ['colour:red', 'is:nice', 'topic: "colour', 'x:'])
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: query === 'x:' ? [] : ['colour_wheel'] })
  const hostile = [
    'topic:"',
    "publisher:'",
    'topic:a"b',
    'license:") OR 1=1 --',
    'sdk:§',
    'is:',
    '-',
    '-topic:',
    'topic:%',
    'topic:\\',
    "topic:' | '!",
    'platform:🦄',
    `topic:${'x'.repeat(500)}`,
    'topic:a '.repeat(60),
  ]
  for (const query of hostile) await find(alice, query)
  expect(await alice.get(`/api/search?q=${encodeURIComponent('dependency:"a\u0000b"')}`)).toMatchObject({ status: 400 })
})

it('follows retraction, options and publisher through one door', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  await makePublisher(app, 'acme.dev', alice)
  await change(app, 'plain', { publisher: 'acme.dev', isDiscontinued: true })
  expect(await find(alice, 'publisher:acme.dev')).toEqual(['plain'])
  expect(await find(alice, 'publisher:acme publisher:acme.dev')).toEqual(['plain'])
  expect(await find(alice, 'is:discontinued')).toEqual(['plain'])
  const { database } = app.services
  const pkg = await database.fork().findOneOrFail(Package, { name: 'fancy' })
  await database.fork().transactional(async (em) => {
    await em.execute('update package_versions set retracted_at = created_at where package_id = ?', [pkg.id])
    await refreshIndex(em, app.config, pkg.id)
  })
  expect(await find(alice, 'is:retracted')).toEqual(['fancy'])
  const context = { ...app.services, em: database.fork(), viewer: { ...alice.user, role: 'member' }, scopes: new Set(['read', 'write']) }
  await changePackage(context as unknown as Parameters<typeof changePackage>[0], 'camera', canChangeOptions, async (_em, changed) => {
    changed.isDiscontinued = true
  })
  expect(await find(alice, 'is:discontinued')).toEqual(['camera', 'plain'])
})

it('shows unlisted packages to nobody, but to those who administer them when they ask', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const [bob, carol, admin] = [await app.member(), await app.member(), await app.admin()]
  await makePublisher(app, 'acme.dev', carol)
  await change(app, 'plain', { isUnlisted: true })
  await change(app, 'fancy', { isUnlisted: true, publisher: 'acme.dev' })
  for (const actor of [alice, bob, carol, admin]) {
    expect(await find(actor, '')).toEqual(['camera'])
    for (const query of ['plain', 'pl', 'license:mit', 'dependency:http', 'sdk:dart']) expect(await find(actor, query)).toEqual([])
    expect((await actor.graphql('{ completePackageNames(prefix: "p", first: 9) }')).body.data.completePackageNames).toEqual([])
    const slip = await actor.graphql('{ searchPackages(query: "plaim", first: 1) { totalCount didYouMean } }')
    expect(slip.body.data.searchPackages).toEqual({ totalCount: 0, didYouMean: [] })
  }
  expect(await find(alice, 'is:unlisted')).toEqual(['fancy', 'plain'])
  expect(await find(alice, 'is:unlisted pl')).toEqual(['plain'])
  expect(await find(bob, 'is:unlisted')).toEqual([])
  expect(await find(carol, 'is:unlisted')).toEqual(['fancy'])
  expect(await find(admin, 'is:unlisted -dependency:http')).toEqual(['fancy'])
})

it('lets nobody who did not sign in find what is not public and listed', async () => {
  await using app = await testApp()
  await stocked(app)
  await change(app, 'camera', { visibility: 'public' })
  await change(app, 'fancy', { visibility: 'public', isUnlisted: true })
  const { database } = app.services
  for (const query of [
    '',
    'camera',
    'ca',
    'is:public',
    '-is:plugin',
    'sdk:flutter',
    'is:unlisted',
    'uploader:me',
    'fancy',
    'plain',
    'license:unknown',
  ]) {
    for (const sort of ['relevance', 'name', 'downloads', 'likes', 'created', 'updated'] as const) {
      const page = await searchPackages(database, { searcher: null, query, sort, limit: 9 })
      const found = page.matches.map(({ name }) => name)
      expect({ query, found: found.filter((name) => name !== 'camera') }).toEqual({ query, found: [] })
      expect({ query, total: await page.totalCount() }).toEqual({ query, total: found.length })
      expect((await page.didYouMean()).filter((name) => name !== 'camera')).toEqual([])
    }
  }
})

it('fills an index that is empty, and says so meanwhile', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const { database } = app.services
  await database.fork().execute('delete from package_search_documents')
  await database.fork().execute('update package_versions set license = null')
  expect(await find(alice, '')).toEqual([])
  const filling = completeIndex(app.services)
  expect(await checkSearch(database)).toBe('initializing')
  await filling
  expect(await checkSearch(database)).toBe('ok')
  expect(await find(alice, 'license:mit')).toEqual(['plain'])
  expect(await find(alice, '')).toEqual(['camera', 'fancy', 'plain'])
})

it('indexes everything anew when terms are made otherwise than before', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const { database } = app.services
  await completeIndex(app.services)
  await database.fork().execute("update package_search_documents set name = 'other_' || name")
  await completeIndex(app.services)
  expect(await find(alice, 'is:plugin')).toEqual(['camera'])
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual([])
  await database.fork().transactional((em) => writeSetting(em, storedForm, 0))
  await completeIndex(app.services)
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual(['camera'])
})

it('counts what else could be filtered by, for the query as it is', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const facets = async (query: string) => {
    const { body } = await alice.graphql(
      'query ($query: String) { searchPackages(query: $query, first: 1) { facets { isExact facets { filter values { value count } } } } }',
      { query },
    )
    const { isExact, facets: found } = body.data.searchPackages.facets as {
      isExact: boolean
      facets: { filter: string; values: { value: string; count: number }[] }[]
    }
    return {
      isExact,
      ...Object.fromEntries(found.map(({ filter, values }) => [filter, values.map(({ value, count }) => `${value} ${count}`)])),
    }
  }
  expect(await facets('')).toEqual({
    isExact: true,
    sdk: ['flutter 3', 'dart 1'],
    platform: ['android 1', 'ios 1', 'linux 1', 'web 1'],
    topic: ['state-management 1'],
    license: ['unknown 2', 'mit 1'],
    is: ['private 3', 'flutter 2', 'plugin 1'],
  })
  expect(await facets('sdk:flutter -is:plugin')).toMatchObject({ sdk: ['flutter 2', 'dart 1'], platform: ['linux 1', 'web 1'] })
  expect(await facets('nothing like this')).toEqual({ isExact: true })
  await change(app, 'camera', { visibility: 'public' })
  const { database } = app.services
  const open = await (await searchPackages(database, { searcher: null, limit: 5 })).facets()
  expect(open.facets.map(({ filter }) => filter)).toEqual(['sdk', 'platform', 'license'])
  expect(JSON.stringify(open)).not.toMatch(/uploader|dependency|mit/)
})

it('completes names, filters and their values', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const complete = async (query: string) => {
    const { body } = await alice.graphql('query ($query: String!) { completeSearch(query: $query, first: 9) { query count isPackage } }', {
      query,
    })
    return (body.data.completeSearch as { query: string; count: number | null }[]).map(({ query: text, count }) =>
      count === null ? text : `${text} ${count}`,
    )
  }
  expect(await complete('pl')).toEqual(['platform:', 'plain'])
  expect(await complete('platform:')).toEqual(['platform:android 1', 'platform:ios 1', 'platform:linux 1', 'platform:web 1'])
  expect(await complete('camera platform:a')).toEqual(['camera platform:android 1'])
  expect(await complete('is:plugin -li')).toEqual(['is:plugin -license:'])
  expect(await complete('-license:m')).toEqual(['-license:mit 1'])
  expect(await complete('is:un')).toEqual(['is:unlisted'])
  expect(await complete('uploader:')).toEqual(['uploader:me'])
  expect(await complete('dependency:fl')).toEqual(['dependency:flutter 2'])
  for (const query of ['', ' ', 'colour:r', '"', 'topic:"', 'is:"pl', ':', '::', 'topic:a:b', 'x'.repeat(1000)]) await complete(query)
  expect(await complete('c')).toEqual(['camera'])
  expect((await completeQuery(app.services.database, null, 'upl', 9)).length).toBe(0)
  expect(await completeQuery(app.services.database, null, 'uploader:m', 9)).toEqual([])
  expect(await completeQuery(app.services.database, null, 'license:m', 9)).toEqual([])
})

it('puts the very name first, also among what is filtered', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['http_extra', 'http', 'my_http']) await publish(alice, { name, version: '1.0.0' })
  const { body } = await alice.get('/api/search?q=http%20sdk:dart')
  const found = (body.packages as { package: string }[]).map((one) => one.package)
  expect(found[0]).toBe('http')
  expect(found.toSorted()).toEqual(['http', 'http_extra', 'my_http'])
})
