import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { makeToken } from '../factories.ts'

it('allows a token to read as its owner but never to grant scopes it lacks', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })
  const ci = app.withToken(body.secret)
  expect(await ci.get('/api/auth/me')).toMatchObject({ status: 200, body: { email: alice.email } })
  expect(await ci.post('/api/auth/keys', { name: 'x', scopes: ['write'] })).toMatchObject({ status: 403 })
  expect(await alice.post('/api/auth/keys', { name: 'x', scopes: [] })).toMatchObject({
    status: 400,
    body: { error: { message: 'scopes: must contain at least one of read, write, admin.' } },
  })
  expect(await app.anonymous.get('/api/auth/keys')).toMatchObject({ status: 401 })
})

it('shows the secret only in the answer that created it', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  const made = await alice.post('/api/auth/keys', { name: 'laptop', expiresInDays: 30 })
  expect(made.status).toBe(201)
  expect(Object.keys(made.body).toSorted()).toEqual(['createdAt', 'expiresAt', 'id', 'name', 'prefix', 'scopes', 'secret'])
  expect(made.body).toMatchObject({
    name: 'laptop',
    secret: expect.stringMatching(/^svc_pat_[0-9A-Za-z]{38}$/),
    scopes: ['read', 'write'],
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-01-31T00:00:00.000Z',
  })
  expect(made.body.secret.startsWith(made.body.prefix)).toBe(true)
  expect(made.body.prefix).toHaveLength(12)
  const listed = await alice.get('/api/auth/keys')
  expect(listed.body.keys[0]).toEqual({
    id: made.body.id,
    name: 'laptop',
    prefix: made.body.prefix,
    scopes: ['read', 'write'],
    createdAt: made.body.createdAt,
    expiresAt: made.body.expiresAt,
    lastUsedAt: null,
  })
  expect(JSON.stringify(listed.body)).not.toContain(made.body.secret)
})

it('works until the moment it expires', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  const { body } = await alice.post('/api/auth/keys', { name: 'short', expiresInDays: 1 })
  const short = app.withToken(body.secret)
  app.clock.now = new Date('2026-01-01T23:59:59.999Z')
  expect(await short.get('/api/auth/me')).toMatchObject({ status: 200 })
  app.clock.now = new Date('2026-01-02T00:00:00Z')
  expect(await short.get('/api/auth/me')).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
})

it('stops working when it is revoked and disappears from the list', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body } = await alice.post('/api/auth/keys', { name: 'lost' })
  const lost = app.withToken(body.secret)
  expect(await alice.delete(`/api/auth/keys/${body.id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await lost.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect((await alice.get('/api/auth/keys')).body.keys.map(({ id }: { id: string }) => id)).not.toContain(body.id)
  expect(await alice.delete(`/api/auth/keys/${body.id}`)).toMatchObject({ status: 200 })
})

it('can be revoked by its owner only', async () => {
  await using app = await testApp()
  const [alice, bob, owner] = [await app.member(), await app.member(), await app.owner()]
  const { body } = await alice.post('/api/auth/keys', { name: 'mine' })
  for (const other of [bob, owner])
    expect(await other.delete(`/api/auth/keys/${body.id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  for (const id of ['x', '..%2f', '00000000-0000-7000-8000-000000000000'])
    expect(await alice.delete(`/api/auth/keys/${id}`)).toMatchObject({ status: 404 })
  expect(await app.withToken(body.secret).get('/api/auth/me')).toMatchObject({ status: 200 })
})

it.each([
  ['viewer', ['read', 'write', 'admin'], ['read']],
  ['member', ['read', 'write', 'admin'], ['read', 'write']],
  ['viewer', ['write'], ['read']],
  ['viewer', ['admin'], ['read']],
  ['member', ['admin'], ['read', 'write']],
  ['member', ['read', 'admin'], ['read', 'write']],
  ['member', ['write'], ['write']],
  ['admin', ['admin'], ['admin']],
] as const)('limits the scopes that a %s requests: %j becomes %j', async (role, wanted, granted) => {
  await using app = await testApp()
  const person = await (await app.person(role)).session()
  expect(await person.post('/api/auth/keys', { name: 'x', scopes: wanted })).toMatchObject({ status: 201, body: { scopes: granted } })
})

it('rejects unknown scopes and an empty list', async () => {
  await using app = await testApp()
  const browser = await (await app.viewer()).session()
  for (const scopes of [['fly'], ['read', 'fly'], [], 'read', [1]]) {
    expect(await browser.post('/api/auth/keys', { name: 'x', scopes })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput' } },
    })
  }
})

it('limits tokens created with a token to its scopes and expiry', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const admin = await app.admin()
  const parent = await (await admin.session()).post('/api/auth/keys', { name: 'parent', scopes: ['write'], expiresInDays: 10 })
  const child = await app.withToken(parent.body.secret).post('/api/auth/keys', { name: 'child', scopes: ['read', 'write', 'admin'] })
  expect(child).toMatchObject({ status: 201, body: { scopes: ['read', 'write'], expiresAt: '2026-01-11T00:00:00.000Z' } })
  const more = await app.withToken(parent.body.secret).post('/api/auth/keys', { name: 'more', scopes: ['admin'] })
  expect(more).toMatchObject({ status: 201, body: { scopes: ['read', 'write'] } })
})

it('loses permissions with its owner at the next request', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const change = (columns: string) =>
    app.services.database.orm.em.getConnection().execute(`update users set ${columns} where id = ?`, [alice.id])
  await change("role = 'viewer'")
  expect(await alice.post('/api/auth/keys', { name: 'x' })).toMatchObject({ status: 403 })
  await change('is_active = false')
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 401 })
  await change('is_active = true')
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('never falls back to the cookie when the header is invalid', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (const authorization of ['Bearer svc_pat_wrong', 'Basic YTpi', 'Bearer', '']) {
    expect(await browser.get('/api/auth/me', { headers: { authorization } })).toMatchObject({ status: 401 })
  }
})

it.each([
  [{}, 'name'],
  [{ name: '' }, 'name'],
  [{ name: 'x'.repeat(101) }, 'name'],
  [{ name: 'a\nb' }, 'name'],
  [{ name: 'x', expiresInDays: 0 }, 'expiresInDays: must be at least 1'],
  [{ name: 'x', expiresInDays: -1 }, 'expiresInDays: must be at least 1'],
  [{ name: 'x', expiresInDays: 1.5 }, 'expiresInDays'],
  [{ name: 'x', expiresInDays: 'soon' }, 'expiresInDays'],
  [{ name: 'x', expiresInDays: 4000 }, 'expiresInDays: must be at most 3650'],
])('names the invalid field of %j', async (input, field) => {
  await using app = await testApp()
  const alice = await app.member()
  const before = (await alice.get('/api/auth/keys')).body.keys.length
  expect(await alice.post('/api/auth/keys', input)).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: expect.stringMatching(new RegExp(`^${field}(: |$)`)) } },
  })
  expect((await alice.get('/api/auth/keys')).body.keys).toHaveLength(before)
})

it('pages by cursor', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let count = 0; count < 5; count++) await alice.post('/api/auth/keys', { name: `token ${count}` })
  const query =
    'query ($after: String) { viewer { tokens(first: 4, after: $after) { totalCount nodes { name } pageInfo { hasNextPage endCursor } } } }'
  const one = (await alice.graphql(query)).body.data.viewer.tokens
  expect(one).toMatchObject({ totalCount: 6, pageInfo: { hasNextPage: true } })
  const two = (await alice.graphql(query, { after: one.pageInfo.endCursor })).body.data.viewer.tokens
  expect([...one.nodes, ...two.nodes].map(({ name }) => name)).toEqual(['token 4', 'token 3', 'token 2', 'token 1', 'token 0', 'test'])
  expect(two.pageInfo.hasNextPage).toBe(false)
  for (const after of ['nonsense', '', Buffer.from('key:no id').toString('base64url')])
    expect((await alice.graphql(query, { after })).body.errors[0].extensions.code).toBe('InvalidInput')
})

it('lists the tokens of all users for administrators, without secrets and with few queries', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await alice.post('/api/auth/keys', { name: 'forever' })
  await alice.post('/api/auth/keys', { name: 'short', expiresInDays: 3 })
  const query = '{ accessTokens(first: 50, neverExpires: true) { totalCount nodes { name expiresAt owner { email } } } }'
  const { body } = await admin.graphql(query)
  expect(body.data.accessTokens.nodes).toContainEqual({ name: 'forever', expiresAt: null, owner: { email: alice.email } })
  expect(body.data.accessTokens.nodes.map(({ name }: { name: string }) => name)).not.toContain('short')
  const few = await app.countQueries(() => admin.graphql(query))
  for (let count = 0; count < 10; count++) await (await app.member()).post('/api/auth/keys', { name: 'more' })
  expect(await app.countQueries(() => admin.graphql(query))).toBe(few)
  for (const actor of [alice, await app.withScopes(admin, ['write'])])
    expect((await actor.graphql(query)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
})

it('marks expired tokens, and reads scopes in any case', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const alice = await (await app.member()).session()
  const made = await alice.post('/api/auth/keys', { name: 'short', expiresInDays: 1, scopes: ['READ', 'Write'] })
  expect(made).toMatchObject({ status: 201, body: { scopes: ['read', 'write'] } })
  await alice.post('/api/auth/keys', { name: 'long', expiresInDays: 2, scopes: ['read'] })
  expect(await alice.post('/api/auth/keys', { name: 'x', scopes: ['READER'] })).toMatchObject({ status: 400 })
  const query = '{ me { tokens(first: 10) { nodes { name isExpired } } } }'
  const marks = async () => (await alice.graphql(query)).body.data.me.tokens.nodes
  expect(await marks()).toContainEqual({ name: 'short', isExpired: false })
  app.clock.now = new Date('2026-01-02T00:00:00Z')
  expect(await marks()).toContainEqual({ name: 'short', isExpired: true })
  expect(await marks()).toContainEqual({ name: 'long', isExpired: false })
})

it('finds tokens with a scope that expire soon', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [admin, alice] = [await app.admin(), await app.member()]
  for (const [name, expiresInDays] of Object.entries({ soon: 14, later: 15 }))
    for (const scopes of [['admin'], ['write']])
      await admin.post('/api/auth/keys', { name: `${name}, ${scopes.join()}`, scopes, expiresInDays })
  await alice.post('/api/auth/keys', { name: 'soon, member', expiresInDays: 3 })
  await admin.post('/api/auth/keys', { name: 'over', scopes: ['admin'], expiresInDays: 1 })
  const query =
    '{ accessTokens(first: 50, scope: ADMIN, expiresFrom: "2026-01-02T00:00:00.001Z", expiresBefore: "2026-01-15T00:00:00.001Z") { totalCount nodes { name } } }'
  expect((await admin.graphql(query)).body.data.accessTokens).toEqual({ totalCount: 1, nodes: [{ name: 'soon, admin' }] })
})

it('lists all tokens in REST, however many there are', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let count = 0; count < 230; count++) await makeToken(app.services, alice.id)
  const { body } = await alice.get('/api/auth/keys')
  expect(new Set(body.keys.map(({ id }: { id: string }) => id)).size).toBe(231)
  const admin = await app.admin()
  for (const page of ['999999999', '9007199254740991'])
    expect(await admin.get(`/api/admin/users?page=${page}`)).toMatchObject({ status: 200, body: { users: [], page: Number(page) } })
  for (const page of ['9007199254740992', '9007199254740993', '9'.repeat(40), '9'.repeat(400)])
    for (const path of ['/api/admin/users', '/api/packages', '/api/search'])
      expect(await admin.get(`${path}?page=${page}`)).toMatchObject({
        status: 400,
        body: { error: { code: 'InvalidInput', message: 'page: must be at most 9007199254740991.' } },
      })
})
