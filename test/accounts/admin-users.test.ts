import { expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const person = { email: 'Nina@Example.com', displayName: 'Nina' }

it('creates an account with a one-time password that must be changed', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const made = await admin.post('/api/admin/users', person)
  expect(made).toMatchObject({
    status: 201,
    body: {
      email: 'Nina@Example.com',
      role: 'viewer',
      mode: 'password',
      mustChangePassword: true,
      status: 'active',
      generatedPassword: expect.stringMatching(/^\S{16}$/),
    },
  })
  expect(Object.keys(made.body)).not.toContain('inviteUrl')
  const login = await app.anonymous.post('/api/auth/login', { email: 'nina@example.com', password: made.body.generatedPassword })
  expect(login).toMatchObject({ status: 200, body: { userId: made.body.userId, mustChangePassword: true } })
})

it('signs in with an internationalized or local address in any spelling, of which one account can have one', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const [email, spelling] of [
    ['x@müller.de', 'X@XN--MLLER-KVA.DE'],
    ['admin@localhost', 'Admin@LOCALHOST'],
    ['x%y@acme.dev', 'x%y@ACME.dev'],
  ]) {
    const { body } = await admin.post('/api/admin/users', { email, displayName: 'X' })
    expect(body.email).toBe(email)
    expect((await admin.post('/api/admin/users', { email: spelling, displayName: 'X' })).status).toBe(409)
    const login = await app.anonymous.post('/api/auth/login', { email: spelling, password: body.generatedPassword })
    expect(login).toMatchObject({ status: 200, body: { userId: body.userId } })
  }
})

it('finds people by any spelling of their address: in lists, as uploaders and in the search', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'acme', version: '1.0.0' })
  const spellings = ['x@müller.de', 'X@XN--MLLER-KVA.DE', 'x@Mu\u0308ller.de']
  await admin.post('/api/admin/users', { email: 'x@xn--mller-kva.de', displayName: 'X', role: 'member' })
  for (const email of spellings) {
    const listed = await admin.get(`/api/admin/users?email=${encodeURIComponent(email)}`)
    expect(listed.body.users, email).toMatchObject([{ email: 'x@xn--mller-kva.de' }])
    const found = await admin.graphql('query ($query: String) { users(first: 9, query: $query) { totalCount } }', { query: email })
    expect(found.body.data.users.totalCount, email).toBe(1)
    expect((await admin.put(`/api/packages/acme/uploaders/${encodeURIComponent(email)}`, {})).status, email).toBe(200)
    const query = `uploader:${email}`
    const packages = await admin.graphql('query ($query: String!) { searchPackages(first: 9, query: $query) { nodes { name } } }', {
      query,
    })
    expect(packages.body.data.searchPackages.nodes, email).toEqual([{ name: 'acme' }])
    expect((await admin.delete(`/api/packages/acme/uploaders/${encodeURIComponent(email)}`)).status, email).toBe(200)
  }
})

it('resets the password of an inactive account and reports that it stays inactive', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const alice = await app.member()
  const reset = () => admin.post(`/api/admin/users/${alice.id}/reset-password`, {})
  expect((await reset()).body).toMatchObject({ userId: alice.id, isActive: true })
  await admin.put(`/api/admin/users/${alice.id}`, { isActive: false })
  expect((await reset()).body).toMatchObject({ userId: alice.id, isActive: false, mustChangePassword: true })
})

it('accepts the former name of the role "member" and refuses "owner" and unknown roles', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  expect(await admin.post('/api/admin/users', { ...person, role: 'Editor' })).toMatchObject({ status: 201, body: { role: 'member' } })
  const found = await admin.graphql('{ users(first: 5, role: EDITOR) { nodes { email role } } }')
  expect(found.body.data.users.nodes).toEqual([{ email: person.email, role: 'MEMBER' }])
  for (const role of ['owner', 'OWNER', 'king', 5, '', ['admin']]) {
    expect(await admin.post('/api/admin/users', { email: 'x@example.com', displayName: 'X', role })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^role: /) } },
    })
  }
  const { body } = await admin.get('/api/admin/users?email=x@example')
  expect(body.totalCount).toBe(0)
})

it('allows one account per e-mail address, ignoring case', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await admin.post('/api/admin/users', person)
  expect(await admin.post('/api/admin/users', { ...person, email: ' NINA@example.com ' })).toMatchObject({
    status: 409,
    body: { error: { code: 'Conflict' } },
  })
  const both = await Promise.all([1, 2].map(() => admin.post('/api/admin/users', { email: 'twin@example.com', displayName: 'Twin' })))
  expect(statuses(both)).toEqual([201, 409])
})

it('lists users by page and by part of the address', async () => {
  await using app = await testApp()
  const admin = await app.admin({ email: 'boss@example.com' })
  for (let count = 0; count < 55; count++) await app.member({ email: `P_${count}@corp.example` })
  const first = await admin.get('/api/admin/users')
  expect(first.body).toMatchObject({ page: 1, pageSize: 50, totalCount: 57, totalPages: 2 })
  expect(first.body.users).toHaveLength(50)
  expect(first.body.users[0]).toMatchObject({ email: 'P_54@corp.example', role: 'member', status: 'active' })
  const second = await admin.get('/api/admin/users?page=2')
  expect(second.body.users.map(({ email }: { email: string }) => email)).toContain('boss@example.com')
  expect(second.body.users).toHaveLength(7)
  expect((await admin.get('/api/admin/users?page=3')).body).toMatchObject({ users: [], page: 3 })
  expect((await admin.get('/api/admin/users?email=p_1%40CORP')).body.totalCount).toBe(1)
  expect((await admin.get('/api/admin/users?email=%25')).body.totalCount).toBe(0)
  await app.member({ email: 'ben@example.com', displayName: 'Benjamin Okonkwo-Fitzgerald' })
  const found = async (query: string) =>
    (await admin.graphql('query ($query: String) { users(first: 9, query: $query) { nodes { email } } }', { query })).body.data.users.nodes
  expect(await found('OKONKWO')).toEqual([{ email: 'ben@example.com' }])
  expect(await found('en@ex')).toEqual([{ email: 'ben@example.com' }])
  expect(await found('okonkwo%fitz')).toEqual([])
  await app.member({ email: 'oezlem@example.com', displayName: 'Özlem Ünal' })
  for (const typed of ['Özlem', 'özlem'.normalize('NFC').slice(1), 'Ünal'])
    expect(await found(typed)).toEqual([{ email: 'oezlem@example.com' }])
  const searchIn = async (field: string, query: string) =>
    (await admin.graphql(`{ users(first: 5, query: "${query}", searchIn: ${field}) { nodes { email } } }`)).body.data.users.nodes
  expect(await searchIn('NAME', 'OKONKWO')).toEqual([{ email: 'ben@example.com' }])
  expect(await searchIn('EMAIL', 'OKONKWO')).toEqual([])
  expect(await searchIn('EMAIL', 'en@EX')).toEqual([{ email: 'ben@example.com' }])
  expect(await searchIn('NAME', 'en@ex')).toEqual([])
  // REST searches addresses only, as it names its parameter.
  expect((await admin.get('/api/admin/users?email=OKONKWO')).body.users).toEqual([])
  expect((await admin.get('/api/admin/users?email=en@EX')).body.users).toMatchObject([{ email: 'ben@example.com' }])
  for (const [path, field] of [
    ['users?email', 'email'],
    ['packages?q', 'q'],
    ['reserved-names?q', 'q'],
    ['confusable-names?q', 'q'],
    ['audit-log?actor', 'actor'],
    ['audit-log?user', 'user'],
  ] as const) {
    expect(await admin.get(`/api/admin/${path}=${'x'.repeat(300)}@example.com`)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(new RegExp(`^${field}: must be at most 2(?:00|54)`)) } },
    })
  }
  const long = await admin.graphql('query ($email: String) { users(first: 1, email: $email) { totalCount } }', {
    email: 'x'.repeat(60_000),
  })
  expect(long.body.errors[0]).toMatchObject({ message: expect.stringContaining('email: must be at most 200 characters long') })
  for (const page of ['0', '-1', 'x', '1.5', ''])
    expect(await admin.get(`/api/admin/users?page=${page}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^page: /) } },
    })
})

it('returns one user or a 404', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  expect(await admin.get(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 200, body: { userId: alice.id, email: alice.email } })
  for (const id of ['x', '00000000-0000-7000-8000-000000000000', '..%2f..'])
    expect(await admin.get(`/api/admin/users/${id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('changes only the given fields', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member({ displayName: 'Alice' })]
  expect(await admin.put(`/api/admin/users/${alice.id}`, { role: 'admin' })).toMatchObject({
    status: 200,
    body: { role: 'admin', displayName: 'Alice', isActive: true },
  })
  expect(await admin.put(`/api/admin/users/${alice.id}`, { displayName: 'Al' })).toMatchObject({
    status: 200,
    body: { role: 'admin', displayName: 'Al' },
  })
  expect(await admin.put(`/api/admin/users/${alice.id}`, {})).toMatchObject({ status: 200, body: { role: 'admin', displayName: 'Al' } })
  for (const change of [{ role: 'owner' }, { isActive: 'no' }, { displayName: '' }])
    expect(await admin.put(`/api/admin/users/${alice.id}`, change)).toMatchObject({ status: 400 })
  expect(await admin.put('/api/admin/users/00000000-0000-7000-8000-000000000000', { role: 'viewer' })).toMatchObject({ status: 404 })
})

it('blocks a disabled user immediately and accepts the tokens again after reactivation', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const browser = await alice.session()
  expect(await admin.put(`/api/admin/users/${alice.id}`, { isActive: false })).toMatchObject({
    status: 200,
    body: { isActive: false, status: 'inactive' },
  })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 401 })
  await expect(alice.session()).rejects.toThrow('Cannot sign in')
  await admin.put(`/api/admin/users/${alice.id}`, { isActive: true })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('refuses changes to the owner, and to the own role by administrators', async () => {
  await using app = await testApp()
  const [owner, admin] = [await app.owner(), await app.admin()]
  const refused = { status: 403, body: { error: { code: 'InsufficientPermissions' } } }
  for (const actor of [admin, owner]) {
    expect(await actor.put(`/api/admin/users/${owner.id}`, { displayName: 'X' })).toMatchObject(refused)
    expect(await actor.delete(`/api/admin/users/${owner.id}`)).toMatchObject(refused)
    expect(await actor.post(`/api/admin/users/${owner.id}/reset-password`, {})).toMatchObject(refused)
  }
  expect(await admin.put(`/api/admin/users/${admin.id}`, { role: 'viewer' })).toMatchObject(refused)
  expect(await admin.put(`/api/admin/users/${admin.id}`, { isActive: false })).toMatchObject(refused)
  expect(await admin.delete(`/api/admin/users/${admin.id}`)).toMatchObject(refused)
  expect(await admin.put(`/api/admin/users/${admin.id}`, { displayName: 'Me' })).toMatchObject({ status: 200 })
})

it('resets a password to a generated or a given one', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const browser = await alice.session()
  const made = await admin.post(`/api/admin/users/${alice.id}/reset-password`)
  expect(made).toMatchObject({
    status: 200,
    body: { userId: alice.id, mustChangePassword: true, generatedPassword: expect.stringMatching(/^\S{16}$/) },
  })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await (await alice.session(made.body.generatedPassword)).get('/api/auth/me')).toMatchObject({ body: { mustChangePassword: true } })
  const given = await admin.post(`/api/admin/users/${alice.id}/reset-password`, { password: 'battery staple' })
  expect(given.body).toEqual({ userId: alice.id, isActive: true, mustChangePassword: true })
  expect(await admin.post(`/api/admin/users/${alice.id}/reset-password`, { password: 'short' })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^password: /) } },
  })
  expect(await alice.session('battery staple')).toBeDefined()
})

it('deletes a user with their data and keeps the audit entries', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const browser = await alice.session()
  expect(await admin.delete(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
  for (const actor of [alice, browser]) expect(await actor.get('/api/auth/me')).toMatchObject({ status: 401 })
  for (const table of ['sessions', 'access_tokens'])
    expect(await app.services.database.reads.all(`select id from ${table} where user_id = ?`, alice.id)).toEqual([])
  expect((await app.services.database.reads.all('select id from audit_entries where actor_id = ?', alice.id)).length).toBeGreaterThan(0)
  expect(await admin.delete(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 404 })
})

it('transfers ownership only to an active administrator', async () => {
  await using app = await testApp()
  const [owner, admin, alice, gone] = [await app.owner(), await app.admin(), await app.member(), await app.admin({ isActive: false })]
  const transfer = (actor: typeof owner, email: string) => actor.post('/api/admin/transfer-ownership', { email })
  expect(await transfer(admin, admin.email)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  for (const email of [alice.email, gone.email, owner.email])
    expect(await transfer(owner, email)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
  expect((await transfer(owner, owner.email)).body.error.message).toBe('You already own this server. Name another administrator.')
  expect(await transfer(owner, 'stranger@example.com')).toMatchObject({ status: 404 })
  const guest = await app.admin()
  await app.services.database.fork().nativeUpdate(User, { id: guest.id }, { passwordHash: null, providerSignInAt: new Date() })
  expect(await transfer(owner, guest.email)).toMatchObject({
    status: 409,
    body: { error: { code: 'Conflict', message: expect.stringMatching(/has no password\. .* reset-password /) } },
  })
  expect(await transfer(owner, admin.email.toUpperCase())).toMatchObject({ status: 200, body: { userId: admin.id, role: 'owner' } })
  expect(await owner.get('/api/auth/me')).toMatchObject({ body: { role: 'admin' } })
  expect(await transfer(owner, admin.email)).toMatchObject({ status: 403 })
})

it('lists users who have not signed in lately, filtered and paged by cursor', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [admin, idle] = [await app.admin(), await app.member()]
  app.clock.now = new Date('2026-06-01T00:00:00Z')
  const busy = await app.member()
  await busy.session()
  const query =
    'query ($since: DateTime, $after: String) { users(first: 2, after: $after, idleSince: $since, orderBy: EMAIL) { totalCount nodes { email } pageInfo { hasNextPage endCursor } } }'
  const page = (await admin.graphql(query, { since: '2026-03-01T00:00:00Z' })).body.data.users
  const next = (await admin.graphql(query, { since: '2026-03-01T00:00:00Z', after: page.pageInfo.endCursor })).body.data.users
  const emails = [...page.nodes, ...next.nodes].map(({ email }: { email: string }) => email)
  expect(page.totalCount).toBe(3)
  expect(emails).toEqual([...emails].toSorted())
  expect(emails).toContain(idle.email)
  expect(emails).not.toContain(busy.email)
  expect((await admin.graphql(query, { since: 'yesterday' })).body.errors[0].extensions.code).toBe('InvalidInput')
})
