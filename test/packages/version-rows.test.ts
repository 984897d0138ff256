import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

/** The operation of the versions page. */
const operations = ['package/versions.graphql', 'shared/next-page.graphql'].map((path) =>
  readFileSync(new URL(`../../web/${path}`, import.meta.url), 'utf8'),
)
const rowFields = operations[0]?.slice(0, operations[0].indexOf('query VersionGroups')) ?? ''
const page = `${rowFields} query { package(name: "acme") { versions(first: 20) { totalCount nodes { ...VersionRow } } } }`

it('loads a page of versions with the same number of statements, however many versions it has', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const statements = async () => {
    let rows = 0
    const queries = await app.countQueries(async () => {
      const { body } = await alice.graphql(page)
      expect(body.errors).toBeUndefined()
      rows = body.data.package.versions.nodes.length
    })
    return { rows, queries }
  }
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  const few = await statements()
  for (let minor = 2; minor < 19; minor++) await publish(alice, { name: 'acme', version: `1.${minor}.0` })
  const many = await statements()
  expect([few.rows, many.rows]).toEqual([2, 19])
  expect(many.queries).toBeLessThanOrEqual(few.queries)
})

const groups = async (actor: Actor) =>
  (await actor.graphql('{ package(name: "acme") { versionGroups { name constraint count highest } } }')).body.data.package?.versionGroups

it('counts versions by major version, and filters by the constraint of a group', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['0.1.0', '1.0.0-dev.1', '1.0.0', '1.9.0', '1.10.0', '10.0.0-0', '10.0.0'])
    await publish(alice, { name: 'acme', version })
  expect(await groups(alice)).toEqual([
    { name: '10.x', constraint: '>=10.0.0-0 <11.0.0-0', count: 2, highest: '10.0.0' },
    { name: '1.x', constraint: '>=1.0.0-0 <2.0.0-0', count: 4, highest: '1.10.0' },
    { name: '0.x', constraint: '>=0.0.0-0 <1.0.0-0', count: 1, highest: '0.1.0' },
  ])
  const query =
    'query ($filter: String) { package(name: "acme") { versions(first: 10, filter: $filter) { totalCount nodes { version } } } }'
  for (const { constraint, count, highest } of await groups(alice)) {
    const { versions } = (await alice.graphql(query, { filter: constraint })).body.data.package
    expect(versions).toMatchObject({ totalCount: count, nodes: [{ version: highest }, ...Array(count - 1).fill(expect.anything())] })
  }
})

it('does not count versions that anonymous callers cannot read', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, dependent('acme', '2.0.0', ['secret']))
  await makePublic(app, 'acme')
  expect((await groups(alice)).map(({ name }: { name: string }) => name)).toEqual(['2.x', '1.x'])
  expect((await groups(app.anonymous)).map(({ name }: { name: string }) => name)).toEqual(['1.x'])
})

it('returns the first changelog line about each version', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'CHANGELOG.md': '## 1.0.0\n\n- The *first* `release`.\n' } })
  await publish(alice, {
    name: 'acme',
    version: '1.1.0',
    files: { 'CHANGELOG.md': '## Unreleased\n\n- Nothing.\n\n## 1.0.0\n\n- First.\n' },
  })
  const { body } = await alice.graphql('{ package(name: "acme") { versions(first: 5) { nodes { version changelogLine } } } }')
  expect(body.data.package.versions.nodes).toEqual([
    { version: '1.1.0', changelogLine: null },
    { version: '1.0.0', changelogLine: 'The first release.' },
  ])
})
