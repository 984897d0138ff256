import { beforeAll, afterAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'

// Changing what other accounts own requires the scope "admin". A token of an administrator without that scope acts as an ordinary member.
let app: TestApp
let alice: Actor
beforeAll(async () => {
  app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  alice = await app.member()
  await publish(alice, { name: 'tool', version: '1.0.0' })
  const admin = await app.admin()
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  await admin.delete(`/api/publishers/acme/members/${admin.id}`)
})
afterAll(() => app[Symbol.asyncDispose]())

type Attempt = { path: string; method: 'GET' | 'PUT' | 'POST' | 'DELETE'; body?: object }
const attempts: Attempt[] = [
  { method: 'PUT', path: '/api/packages/tool/uploaders/bob@example.com' },
  { method: 'DELETE', path: '/api/packages/tool/uploaders/alice' },
  { method: 'PUT', path: '/api/packages/tool/options', body: { isUnlisted: true } },
  { method: 'PUT', path: '/api/packages/tool/versions/1.0.0/options', body: { isRetracted: true } },
  { method: 'PUT', path: '/api/packages/tool/publisher', body: { publisherId: 'acme' } },
  { method: 'GET', path: '/api/packages/tool/activity-log' },
  { method: 'GET', path: '/api/packages/tool/visibility' },
  { method: 'POST', path: '/api/packages/tool/visibility/preview', body: { visibility: 'public' } },
  { method: 'PUT', path: '/api/packages/tool/visibility', body: { visibility: 'public', confirm: 'tool' } },
  { method: 'PUT', path: '/api/publishers/acme', body: { displayName: 'Mine' } },
  { method: 'DELETE', path: '/api/admin/packages/tool' },
  { method: 'POST', path: '/api/publishers', body: { id: 'mine', displayName: 'Mine' } },
  { method: 'PUT', path: '/api/admin/public-packages', body: { enabled: true } },
]

/** Returns actors that lack the scope "admin", each in a different way. */
const actorsWithoutAdminScope = async (): Promise<[string, Actor][]> => {
  const [admin, owner, member] = [await app.admin(), await app.owner(), await app.member()]
  return [
    ['admin, write', await app.withScopes(admin, ['write'])],
    ['admin, read', await app.withScopes(admin, ['read'])],
    ['owner, write', await app.withScopes(owner, ['write'])],
    ['member', member],
    ['member, session', await member.session()],
  ]
}

it.each(attempts)('refuses $method $path without the scope "admin"', async ({ method, path, body }) => {
  for (const [name, actor] of await actorsWithoutAdminScope()) {
    const { status, body: answer } = await actor.send(method, path.replace('alice', alice.email), body)
    expect({ name, status, code: answer.error.code }).toEqual({ name, status: 403, code: 'InsufficientPermissions' })
  }
})

it('refuses to publish to a package of another account and names the required token scope', async () => {
  const ci = await app.withScopes(await app.admin(), ['write'])
  const { status, body } = await publishArchive(ci, await packageArchive({ name: 'tool', version: '2.0.0' }))
  expect({ status, ...body.error }).toMatchObject({ status: 403, message: expect.stringContaining('scope "admin"') })
  expect((await alice.get('/api/packages/tool')).body.versions).toHaveLength(1)
})

const fields = `{
  package(name: "tool") { visibility viewerCanPublish viewerCanAdminister viewerCanChoosePublisher latest { viewerCanRetract } }
  publisher(slug: "acme") { viewerCanAdminister viewerCanDelete members { role } }
  searchPackages(first: 5, query: "is:unlisted") { nodes { name } }
}`

it('returns the same permissions over GraphQL and REST', async () => {
  const no = { viewerCanPublish: false, viewerCanAdminister: false, viewerCanChoosePublisher: false, latest: { viewerCanRetract: false } }
  for (const [name, actor] of await actorsWithoutAdminScope()) {
    const { body } = await actor.graphql(fields)
    expect({ name, ...body.data }).toMatchObject({
      name,
      package: { visibility: 'PRIVATE', ...no },
      publisher: { viewerCanAdminister: false, viewerCanDelete: false, members: null },
    })
  }
})

it('allows every administrator token with the scope and every administrator session', async () => {
  const [admin, owner] = [await app.admin(), await app.owner()]
  for (const actor of [admin, await admin.session(), await app.withScopes(admin, ['admin']), owner, await owner.session()]) {
    const { body } = await actor.graphql(fields)
    expect(body.data).toMatchObject({
      package: { viewerCanPublish: true, viewerCanAdminister: true, viewerCanChoosePublisher: true, latest: { viewerCanRetract: true } },
      publisher: { viewerCanAdminister: true, viewerCanDelete: true, members: [{ role: 'ADMIN' }] },
    })
    for (const isUnlisted of [true, false])
      expect(await actor.put('/api/packages/tool/options', { isUnlisted })).toMatchObject({ status: 200, body: { isUnlisted } })
    expect(await actor.get('/api/packages/tool/activity-log')).toMatchObject({ status: 200 })
  }
})

it('finds unlisted packages of others only with the scope "admin"', async () => {
  const admin = await app.admin()
  await alice.put('/api/packages/tool/options', { isUnlisted: true })
  const found = async (actor: Actor) => (await actor.get('/api/search?q=is:unlisted')).body.packages.length
  expect(await found(admin)).toBe(1)
  expect(await found(alice)).toBe(1)
  expect(await found(await app.withScopes(admin, ['write']))).toBe(0)
  await alice.put('/api/packages/tool/options', { isUnlisted: false })
})

it('keeps what an administrator owns as a member: publishing, uploaders and reading', async () => {
  const admin = await app.admin()
  const ci = await app.withScopes(admin, ['write'])
  await publish(ci, { name: 'mine', version: '1.0.0' })
  expect(await ci.put('/api/packages/mine/options', { isUnlisted: true })).toMatchObject({ status: 200 })
  expect(await (await app.withScopes(admin, ['read'])).get('/api/packages/tool')).toMatchObject({ status: 200 })
})

it('hides sessions, tokens and security history from read-only tokens, also as GraphQL nodes', async () => {
  for (const person of [await app.member(), await app.admin(), await app.owner()]) {
    await person.session()
    const { body } = await person.graphql(
      '{ me { sessions(first: 1) { nodes { id } } tokens(first: 1) { nodes { id } } securityHistory(first: 1) { nodes { id clientIp } } activity(first: 1) { nodes { id } } } }',
    )
    const ids: string[] = Object.values<{ nodes: { id: string }[] }>(body.data.me).map(({ nodes }) => nodes[0]?.id ?? '')
    const reader = await app.withScopes(person, ['read'])
    for (const path of ['/api/auth/sessions', '/api/auth/keys'])
      expect(await reader.get(path)).toMatchObject({ status: 403, body: { error: { message: expect.stringContaining('"write"') } } })
    for (const field of ['sessions', 'tokens', 'securityHistory', 'activity']) {
      const refused = await reader.graphql(`{ me { email ${field}(first: 1) { nodes { id } } } }`)
      expect(refused.body).toMatchObject({
        data: { me: { email: person.email, [field]: null } },
        errors: [{ extensions: { code: 'InsufficientPermissions' } }],
      })
    }
    expect((await reader.graphql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).body.data.nodes).toEqual([
      null,
      null,
      null,
      null,
    ])
    expect(await reader.get('/api/auth/me')).toMatchObject({ status: 200 })
  }
})
