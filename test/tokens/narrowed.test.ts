import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makeToken, type TokenLimits } from '../factories.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, publish, publishArchive, sendBytes, upload } from '../support/publish.ts'

const narrow = async (app: TestApp, owner: Actor, limits: TokenLimits): Promise<Actor> =>
  app.withToken(await makeToken(app.services, owner.id, undefined, limits))

const forbidden = (message: RegExp) => ({
  status: 403,
  body: { error: { code: 'InsufficientPermissions', message: expect.stringMatching(message) } },
})

it('publishes the packages that the token covers, and stores nothing of others', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const ci = await narrow(app, alice, { actions: 'publish', packages: 'acme_*,tools' })
  for (const name of ['acme_ui', 'acme_', 'tools']) await publish(ci, { name, version: '1.0.0' })
  for (const name of ['acme', 'tools2', 'my_acme_ui', 'x']) {
    const answer = await publishArchive(ci, await packageArchive({ name, version: '1.0.0' }))
    expect(answer).toMatchObject(forbidden(new RegExp(`does not cover the package ${name}\\. It is limited to: acme_\\*, tools\\.`)))
    expect(await alice.get(`/api/packages/${name}`)).toMatchObject({ status: 404 })
  }
  expect(await app.services.blobs.collectStaged(new Date(Date.now() + 86_400_000))).toBe(0)
  // A new version of a package, by an upload that another token of the same user started.
  const uploadId = await upload(alice, await packageArchive({ name: 'other', version: '1.0.0' }))
  expect(await finish(ci, uploadId)).toMatchObject(forbidden(/does not cover the package other/))
  // The result of an upload that another token has finished.
  const finished = await upload(alice, await packageArchive({ name: 'another', version: '1.0.0' }))
  expect(await finish(alice, finished)).toMatchObject({ status: 200 })
  expect(await finish(ci, finished)).toMatchObject(forbidden(/does not cover the package another/))
})

it('limits the key of an upload as the token that started it', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const ci = await narrow(app, alice, { packages: 'acme', addresses: '203.0.113.0/24' })
  const byKey = async (name: string, ip: string) => {
    const { body } = await ci.get('/api/packages/versions/new', { ip: '203.0.113.9' })
    const { pathname, search } = new URL(body.url)
    const archive = await packageArchive({ name, version: '1.0.0' })
    const headers = { 'content-type': 'application/octet-stream' }
    const sent = await app.anonymous.post(pathname + search, archive, { ip, headers })
    if (sent.status !== 302) return sent
    const target = new URL(String(sent.headers.location))
    return app.anonymous.get(target.pathname + target.search, { ip })
  }
  expect(await byKey('acme', '203.0.113.4')).toMatchObject({ status: 200 })
  expect(await byKey('other', '203.0.113.4')).toMatchObject(forbidden(/does not cover the package other/))
  expect(await byKey('acme', '198.51.100.4')).toMatchObject(forbidden(/does not work from the address 198\.51\.100\.4/))
})

it('keeps a token to publish from reading and retracting, and a token to retract from publishing', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const [publisher, retractor] = [await narrow(app, alice, { actions: 'publish' }), await narrow(app, alice, { actions: 'retract' })]
  for (const path of ['/api/packages/acme', '/api/archives/acme-1.0.0.tar.gz', '/api/search?q=acme'])
    expect(await publisher.get(path)).toMatchObject(forbidden(/does not allow the action "read", only: publish/))
  const options = '/api/packages/acme/versions/1.0.0/options'
  expect(await publisher.put(options, { isRetracted: true })).toMatchObject(forbidden(/does not allow the action "retract"/))
  expect(await retractor.get('/api/packages/versions/new')).toMatchObject(forbidden(/does not allow the action "publish"/))
  expect(await sendBytes(retractor, await announce(alice), Buffer.from('x'))).toMatchObject(forbidden(/"publish"/))
  expect(await retractor.put(options, { isRetracted: true })).toMatchObject({ status: 200, body: { isRetracted: true } })
  expect(await retractor.put(options, { isRetracted: false })).toMatchObject({ status: 200, body: { isRetracted: false } })
})

it('does not let a role or a scope give more than the limits, or the limits more than the scopes', async () => {
  await using app = await testApp()
  const [owner, viewer] = [await app.owner(), await app.viewer()]
  await publish(owner, { name: 'acme', version: '1.0.0' })
  const administrator = await narrow(app, owner, { actions: 'read' })
  expect(await administrator.get('/api/admin/users')).toMatchObject(forbidden(/limited to the actions read\./))
  expect(await administrator.get('/api/auth/keys')).toMatchObject(forbidden(/limited to the actions read\./))
  const reader = await narrow(app, viewer, { actions: 'read,publish,retract' })
  expect(await reader.get('/api/packages/acme')).toMatchObject({ status: 200 })
  expect(await reader.get('/api/packages/versions/new')).toMatchObject(forbidden(/lacks the scope "write"/))
})

const rejected = (message: RegExp) => ({
  body: { errors: [{ message: expect.stringMatching(message), extensions: { code: 'InsufficientPermissions' } }] },
})

it('rejects other fields of GraphQL, also in fragments, behind aliases and directives', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const ci = await narrow(app, alice, { actions: 'read', packages: 'acme' })
  const allowed = `{ package(name: "acme") { name versions(first: 1) { nodes { version readme { html } dependencies { name } } } } }`
  expect(await ci.graphql(allowed)).toMatchObject({ body: { data: { package: { name: 'acme' } } } })
  for (const query of [
    '{ package(name: "acme") { uploaders { email } } }',
    '{ package(name: "acme") { mine: latest { publishedBy { tokens(first: 1) { nodes { name } } } } } }',
    '{ package(name: "acme") { publisher { members { user { email } } } } }',
    '{ package(name: "acme") { dependents(first: 1) { nodes { package { name } } } } }',
    '{ package(name: "acme") { latest { dependencies { package { name } } } } }',
    '{ package(name: "acme") { activity(first: 1) { nodes { summary } } } }',
    '{ package(name: "acme") { ... on Node { ... on Package { uploaders { email } } } } }',
    'query { ...all } fragment all on Query { package(name: "acme") { ...rest } } fragment rest on Package { uploaders { email } }',
    'query ($yes: Boolean = true) { package(name: "acme") { name } viewer @skip(if: $yes) { email } }',
    'query Mine { package(name: "acme") { name } } query Theirs { viewer { email } }',
    '{ viewer { email } }',
    '{ __schema { types { name } } }',
    '{ __type(name: "User") { name } }',
    '{ node(id: "VXNlcjox") { id } }',
  ]) {
    const name = query.includes('Theirs') ? { operationName: 'Theirs' } : {}
    const answer = await ci.post('/graphql', { query, ...name })
    expect({ query, ...answer }).toMatchObject({ query, ...rejected(/limited to the actions read\./) })
    expect(answer.body.data ?? null).toBeNull()
  }
})

it('checks the package that a root field names, however the query gives it', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['acme', 'other']) await publish(alice, { name, version: '1.0.0' })
  const ci = await narrow(app, alice, { packages: 'acme' })
  const asked: [string, object][] = [
    ['{ package(name: "other") { name } }', {}],
    ['query ($name: String!) { package(name: $name) { name } }', { name: 'other' }],
    ['query ($name: String! = "other") { package(name: $name) { name } }', {}],
    ['{ package(name: "acme") { name } second: package(name: "other") { name } }', {}],
    ['mutation { updateVersionOptions(input: { package: "other", version: "1.0.0", isRetracted: true }) { version { version } } }', {}],
    [
      'mutation ($input: UpdateVersionOptionsInput!) { updateVersionOptions(input: $input) { version { version } } }',
      { input: { package: 'other', version: '1.0.0', isRetracted: true } },
    ],
  ]
  for (const [query, variables] of asked)
    expect({ query, ...(await ci.graphql(query, variables)) }).toMatchObject({ query, ...rejected(/does not cover the package other/) })
  expect(await ci.graphql('{ packages(first: 1) { nodes { name } } }')).toMatchObject(rejected(/cannot list or search packages/))
  const own =
    'mutation { updateVersionOptions(input: { package: "acme", version: "1.0.0", isRetracted: true }) { version { isRetracted } } }'
  expect(await ci.graphql(own)).toMatchObject({ body: { data: { updateVersionOptions: { version: { isRetracted: true } } } } })
})

it('costs a read as many statements as a token without limits', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const plain = app.withToken(await makeToken(app.services, alice.id))
  const ci = await narrow(app, alice, { actions: 'read', packages: 'acme,tools_*', addresses: '10.0.0.0/8,2001:db8::/32' })
  for (const path of ['/api/packages/acme', '/api/archives/acme-1.0.0.tar.gz']) {
    for (const actor of [plain, ci]) await actor.get(path)
    const [expected, counted] = [await app.countQueries(() => plain.get(path)), await app.countQueries(() => ci.get(path))]
    expect({ path, counted }).toEqual({ path, counted: expected })
  }
})
