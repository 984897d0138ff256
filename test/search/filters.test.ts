import { expect, it } from 'vitest'
import { changePackage } from '../../server/registry/packages/change-package.ts'
import { Package } from '../../server/registry/packages/entity.ts'
import { canChangeOptions } from '../../server/registry/packages/policy.ts'
import { Publisher, PublisherMember } from '../../server/registry/publishers/entity.ts'
import { refreshIndex } from '../../server/registry/search/refresh-index.ts'
import { searchPackages } from '../../server/registry/search/service.ts'
import { User } from '../../server/accounts/users/entity.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'
import { change, find, publishSearchFixtures } from '../support/search.ts'

async function makePublisher(app: TestApp, id: string, admin: Actor) {
  const em = app.services.database.fork()
  const publisher = em.create(Publisher, { id, displayName: id })
  em.create(PublisherMember, { publisher, user: em.getReference(User, admin.id), role: 'admin' })
  await em.flush()
}

it('filters by pubspec data', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
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
    'uploader:unknown@example.com': [],
    '-uploader:unknown@example.com is:plugin': ['camera'],
  }))
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: expected })
})

it('applies filters of pub.dev, and ignores the ones it does not support', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
  const all = ['camera', 'fancy', 'plain']
  for (const [query, expected] of Object.entries({
    'runtime:web': ['fancy'],
    'runtime:native-aot': ['camera', 'fancy'],
    'Runtime:Native-JIT camera': ['camera'],
    '-runtime:web': ['camera', 'plain'],
    '-runtime:native-aot': ['plain'],
    'runtime:web runtime:native-aot': ['fancy'],
    'dependency*:http': ['plain'],
    '-dependency*:flutter': ['plain'],
    'dependency*:absent': [],
    'topic:state-management updated:2w': ['plain'],
    'has:executable sdk:dart': ['plain'],
    'show:unlisted is:plugin has:screenshot': ['camera'],
    'updated:3d': all,
    '-has:executable': all,
    'camera updated:1y6m': ['camera'],
    'updated:2w absent_words': [],
    'runtime:cobol': [],
  }))
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: expected })
  for (const [query, searchedFor] of Object.entries({
    'sdk:dart  updated:2w': 'sdk:dart',
    'has:executable': '',
    'camera show:unlisted is:plugin': 'camera is:plugin',
    'topic:"state  management"': null,
    'runtime:web': null,
    camera: null,
  })) {
    const { body } = await alice.graphql('query ($query: String) { searchPackages(first: 1, query: $query) { searchedFor } }', { query })
    expect({ query, ...body.data.searchPackages }).toEqual({ query, searchedFor })
  }
})

it('treats unknown prefixes, unknown flags and open quotes as text', async () => {
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

it('follows changes of retraction, options and publisher', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
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

it('shows unlisted packages only to their administrators, on request', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
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

it('hides private and unlisted packages from anonymous users', async () => {
  await using app = await testApp()
  await publishSearchFixtures(app)
  await change(app, 'camera', { visibility: 'public' })
  await change(app, 'fancy', { visibility: 'public', isUnlisted: true })
  const { database, config: here } = app.services
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
      const page = await searchPackages(database, { searcher: null, here, query, sort, limit: 9 })
      const found = page.matches.map(({ name }) => name)
      expect({ query, found: found.filter((name) => name !== 'camera') }).toEqual({ query, found: [] })
      expect({ query, total: await page.totalCount() }).toEqual({ query, total: found.length })
      expect((await page.didYouMean()).filter((name) => name !== 'camera')).toEqual([])
    }
  }
})

it('ranks the exact name first, also with filters', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['http_extra', 'http', 'my_http']) await publish(alice, { name, version: '1.0.0' })
  const { body } = await alice.get('/api/search?q=http%20sdk:dart')
  const found = (body.packages as { package: string }[]).map((one) => one.package)
  expect(found[0]).toBe('http')
  expect(found.toSorted()).toEqual(['http', 'http_extra', 'my_http'])
})
