import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makeToken } from '../factories.ts'
import { publish } from '../support/publish.ts'

// A token that is limited to the package acme, in a registry where its owner can read more.
let app: TestApp
let alice: Actor
let ci: Actor
let ids: Record<'user' | 'other', string>
beforeAll(async () => {
  app = await testApp()
  const admin = await app.admin()
  alice = await app.member()
  await publish(alice, { name: 'other', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'dependencies:\n  other: ^1.0.0\n' })
  await admin.post('/api/publishers', { id: 'team', displayName: 'Team' })
  await admin.put(`/api/publishers/team/members/${alice.id}`, { role: 'admin' })
  for (const name of ['acme', 'other']) await alice.put(`/api/packages/${name}/publisher`, { publisherId: 'team' })
  ci = app.withToken(await makeToken(app.services, alice.id, undefined, { packages: 'acme', actions: 'read' }))
  const { body } = await alice.graphql('{ viewer { id } package(name: "other") { id } }')
  ids = { user: body.data.viewer.id, other: body.data.package.id }
})
afterAll(() => app[Symbol.asyncDispose]())

const inPackage = (selection: string) => `{ package(name: "acme") { ${selection} } }`

it.each([
  ['the publisher', inPackage('publisher { packages(first: 5) { nodes { name } } }')],
  ['dependents', inPackage('dependents(first: 5) { nodes { package { name } } }')],
  ['uploaders', inPackage('uploaders { packages(first: 5) { nodes { name } } }')],
  ['the uploader of a version', inPackage('latest { uploader { displayName } }')],
  ['the package of a dependency', inPackage('latest { dependencies { package { name } } }')],
  ['an alias', inPackage('latest: publisher { slug }')],
  ['a fragment', `query { package(name: "acme") { ...F } } fragment F on Package { publisher { slug } }`],
  ['nested fragments', `query { ...A } fragment A on Query { ...B } fragment B on Query { viewer { email } }`],
  ['a skipped field', `query ($no: Boolean = false) { viewer @include(if: $no) { email } package(name: "acme") { name } }`],
  ['tokens', '{ viewer { tokens(first: 1) { nodes { name } } } }'],
  ['the schema', '{ __schema { types { name } } }'],
  ['a type', '{ __type(name: "User") { name } }'],
])('does not reach other objects by %s', async (_what, query) => {
  const { body } = await ci.graphql(query)
  expect(body.data ?? null).toBeNull()
  expect(body.errors.length).toBeGreaterThan(0)
  // The query is valid, so that the limits reject it, unless the schema has no such field.
  if (!/GRAPHQL_VALIDATION_FAILED|InvalidInput/.test(body.errors[0].extensions?.code))
    expect(body.errors[0]).toMatchObject({ extensions: { code: 'InsufficientPermissions' }, message: /^This credential / })
})

it('does not reach objects by their global id', async () => {
  for (const id of Object.values(ids))
    for (const query of ['query ($id: ID!) { node(id: $id) { id } }', 'query ($id: ID!) { nodes(ids: [$id]) { id } }']) {
      const { body } = await ci.graphql(query, { id })
      expect(body).toMatchObject({ errors: [{ extensions: { code: 'InsufficientPermissions' } }] })
    }
})

it('rejects a list of operations', async () => {
  const one = { query: '{ package(name: "acme") { name } }' }
  const { status, body } = await ci.post('/graphql', [one, { query: '{ viewer { email } }' }])
  expect(status).toBeGreaterThanOrEqual(400)
  expect(JSON.stringify(body)).not.toContain(alice.email)
})

const paths = [
  '/api/packages/other',
  '/api/packages/%6Fther',
  '/api/packages/other?pkg=acme&name=acme',
  '/api/packages/other/versions/1.0.0',
  '/api/packages/other/versions/1.0.0/archive.tar.gz',
  '/api/archives/other-1.0.0.tar.gz',
  '/packages/other/versions/1.0.0.tar.gz',
  '/packages/other.json',
  '/packages/other/feed.atom',
  '/packages/other/badges/version.svg',
  '/api/packages/other/advisories',
  '/documentation/other/1.0.0/index.html',
  '/raw/other/1.0.0/pubspec.yaml',
  '/raw/acme/../other/1.0.0/pubspec.yaml',
  '/api/packages/acme/../other',
  '/api/packages?page=1',
  '/api/search?q=other',
  '/api/publishers/team',
  '/feed.atom',
]

it.each(paths)('answers no method and no condition for %s', async (path) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS'] as const) {
    const answer = await ci.send(method, path, undefined, {
      headers: { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() },
    })
    expect({ method, status: answer.status }).not.toMatchObject({ status: 200 })
    expect({ method, status: answer.status }).not.toMatchObject({ status: 304 })
  }
})

it('reads the package that it covers in the same ways', async () => {
  for (const path of paths.slice(3, 9).map((one) => one.replaceAll('other', 'acme')))
    expect([200, 303], path).toContain((await ci.get(path)).status)
  const { body } = await ci.graphql(inPackage('name latest { version dependencies { name constraint } }'))
  expect(body).toMatchObject({ data: { package: { name: 'acme', latest: { dependencies: [{ name: 'other' }] } } } })
})
