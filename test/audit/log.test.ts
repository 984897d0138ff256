import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { addEntries } from '../support/audit.ts'

const path = '/api/admin/audit-log'

type Entry = { summary: string }

it('lists entries newest first, in the exact shape', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await alice.post('/api/auth/keys', { name: 'ci' })
  await admin.put(`/api/admin/users/${alice.id}`, { role: 'viewer' })
  const { status, body, headers } = await admin.get(path)
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(body).toEqual({
    entries: [
      {
        id: expect.any(String),
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        kind: 'user.updated',
        summary: `${admin.user.displayName} changed ${alice.user.displayName}: role viewer`,
        version: null,
        package: null,
        publisher: null,
        agent: { userId: admin.id, displayName: admin.user.displayName, email: admin.email },
        user: { userId: alice.id, displayName: alice.user.displayName, email: alice.email },
        clientIp: admin.ip,
      },
      expect.objectContaining({
        kind: 'token.created',
        agent: { userId: alice.id, displayName: alice.user.displayName, email: alice.email },
      }),
    ],
    nextBefore: null,
  })
})

it('requires an administrator in every API and format', async () => {
  await using app = await testApp()
  const [admin, member, viewer] = [await app.admin(), await app.member(), await app.viewer()]
  const narrow = await app.withScopes(admin, ['read', 'write'])
  const csv = { headers: { accept: 'text/csv' } }
  await addEntries(app, 1, () => ({ kind: 'user.login', summary: 'x' }))
  const [{ id }] = (await admin.graphql('{ auditEntries(first: 1) { nodes { id } } }')).body.data.auditEntries.nodes
  for (const actor of [member, viewer, narrow]) {
    expect(await actor.get(path)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    expect(await actor.get(path, csv)).toMatchObject({ status: 403 })
    expect(await actor.get(`${path}?from=x`, csv)).toMatchObject({ status: 403 })
    expect((await actor.graphql('{ auditEntries(first: 1) { nodes { id } } }')).body.errors[0].extensions.code).toBe(
      'InsufficientPermissions',
    )
    expect((await actor.graphql('query ($id: ID!) { node(id: $id) { id } }', { id })).body.data).toEqual({ node: null })
  }
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
  expect(await app.anonymous.get(path, csv)).toMatchObject({ status: 401 })
})

it('leaves out kinds and prefixes', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const kind of ['user.login', 'user.updated', 'package.created']) await addEntries(app, 1, () => ({ kind, summary: 'x' }))
  const kinds = async (excludeKinds: string[]) => {
    const { body } = await admin.graphql(
      'query ($excludeKinds: [String!]) { auditEntries(first: 9, excludeKinds: $excludeKinds) { nodes { kind } } }',
      { excludeKinds },
    )
    return body.errors?.[0].extensions.code ?? body.data.auditEntries.nodes.map(({ kind }: { kind: string }) => kind)
  }
  expect(await kinds(['user.login'])).toEqual(['package.created', 'user.updated'])
  expect(await kinds(['user.', 'token.'])).toEqual(['package.created'])
  expect(await kinds(['%'])).toBe('InvalidInput')
  expect(await kinds(Array.from({ length: 21 }, () => 'user.login'))).toBe('InvalidInput')
})

it('pages by fifty without gaps or repetitions while entries are added', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await addEntries(app, 120, (n) => ({ kind: 'user.login', summary: String(n) }))
  const first = await admin.get(path)
  expect(first.body.entries).toHaveLength(50)
  await addEntries(app, 3, () => ({ kind: 'user.login', summary: 'newer' }))
  const second = await admin.get(`${path}?before=${first.body.nextBefore}`)
  const third = await admin.get(`${path}?before=${second.body.nextBefore}`)
  expect(third.body).toMatchObject({ nextBefore: null })
  const seen = [first, second, third].flatMap(({ body }) => body.entries as Entry[])
  expect(seen.map(({ summary }) => summary)).toEqual(Array.from({ length: 120 }, (_, n) => String(119 - n)))
})

it('filters alike in JSON, CSV and GraphQL', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member({ email: 'Alice@Example.com' })]
  const at = (minute: number) => ({ createdAt: new Date(Date.UTC(2026, 0, 1, 12, minute)) })
  const entries = [
    { kind: 'user.login', summary: 'a', actorId: alice.id, userId: alice.id, ...at(0) },
    { kind: 'user.login_failed', summary: 'b', userId: alice.id, ...at(1) },
    { kind: 'package.version_published', summary: 'c', actorId: alice.id, package: 'ui', version: '1.0.0', ...at(2) },
    { kind: 'package.created', summary: 'd', actorId: admin.id, package: 'icons', ...at(3) },
  ]
  await addEntries(app, 4, (n) => entries[n] ?? { kind: 'user.login', summary: 'never' })
  const cases: [Record<string, string>, string][] = [
    [{}, 'dcba'],
    [{ kind: 'user.' }, 'ba'],
    [{ kind: 'user.login' }, 'a'],
    [{ kind: 'user.log' }, ''],
    [{ actor: 'alice@example.COM' }, 'ca'],
    [{ actor: alice.id }, 'ca'],
    [{ actor: 'unknown@example.com' }, ''],
    [{ user: alice.email }, 'ba'],
    [{ package: 'ui' }, 'c'],
    [{ actor: alice.id, kind: 'package.' }, 'c'],
    [{ from: '2026-01-01T12:01:00Z', to: '2026-01-01T12:03:00Z' }, 'cb'],
  ]
  const query =
    'query ($kind: String, $actor: String, $user: String, $package: String, $from: DateTime, $to: DateTime) { auditEntries(first: 10, kind: $kind, actor: $actor, user: $user, package: $package, from: $from, to: $to) { totalCount nodes { summary } } }'
  for (const [filter, expected] of cases) {
    const url = `${path}?${new URLSearchParams(filter)}`
    const json = (await admin.get(url)).body.entries as Entry[]
    const csv = (await admin.get(url, { headers: { accept: 'text/csv' } })).body as string
    const { data } = (await admin.graphql(query, filter)).body
    const rest = json.map(({ summary }) => summary).join('')
    const rows = csv
      .split('\r\n')
      .slice(1, -1)
      .map((row) => row.split(',')[3])
      .join('')
    expect(
      [rest, rows, data.auditEntries.nodes.map((node: Entry) => node.summary).join(''), data.auditEntries.totalCount],
      JSON.stringify(filter),
    ).toEqual([expected, expected, expected, expected.length])
  }
})

it.each(['kind=x', 'kind=user.%25', 'before=1', 'before=..%2f', 'from=yesterday', 'kind=a.&kind=b.'])(
  'refuses %s in either format',
  async (query) => {
    await using app = await testApp()
    const admin = await app.admin()
    const refused = { status: 400, body: { error: { code: 'InvalidInput' } } }
    expect(await admin.get(`${path}?${query}`)).toMatchObject(refused)
    expect(await admin.get(`${path}?${query}`, { headers: { accept: 'text/csv' } })).toMatchObject(refused)
  },
)

it('names the invalid parameter as the caller wrote it', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const refused = {
    status: 400,
    body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^before: must be the id of an entry/) } },
  }
  for (const accept of ['application/json', 'text/csv'])
    expect(await admin.get(`${path}?before=zz`, { headers: { accept } })).toMatchObject(refused)
  const { body } = await admin.graphql('{ auditEntries(first: 1, olderThan: "zz") { nodes { id } } }')
  expect(body.errors).toMatchObject([{ message: expect.stringMatching(/^olderThan: /), extensions: { field: 'olderThan' } }])
})

it('refuses a cursor of another list', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const { body } = await admin.graphql('query ($after: String) { auditEntries(first: 1, after: $after) { nodes { id } } }', {
    after: Buffer.from('key:x').toString('base64url'),
  })
  expect(body.errors[0].extensions.code).toBe('InvalidInput')
})

it('keeps the entries of deleted users and marks the users as deleted', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await alice.post('/api/auth/keys', { name: 'ci' })
  await admin.delete(`/api/admin/users/${alice.id}`)
  const gone = { userId: alice.id, displayName: 'deleted user', email: null }
  const { body } = await admin.get(`${path}?actor=${alice.id}`)
  expect(body.entries).toMatchObject([{ kind: 'token.created', agent: gone, user: gone }])
  const { data } = (await admin.graphql(`{ auditEntries(first: 1, actor: "${alice.id}") { nodes { actor { id } actorName actorId } } }`))
    .body
  expect(data.auditEntries.nodes).toEqual([{ actor: null, actorName: 'deleted user', actorId: alice.id }])
  await app.anonymous.post('/api/auth/login', { email: 'unknown@example.com', password: 'wrong password' })
  expect((await admin.get(`${path}?kind=user.login_failed`)).body.entries).toMatchObject([{ agent: null, user: null }])
})

it('filters by the address or identifier of a user, in the list and in files', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await alice.post('/api/auth/keys', { name: 'ci' })
  for (const name of ['actor', 'user']) {
    for (const person of [alice.id, alice.email, alice.email.toUpperCase()]) {
      const filtered = `${path}?kind=token.created&${name}=${encodeURIComponent(person)}`
      expect((await admin.get(filtered)).body.entries).toMatchObject([{ kind: 'token.created' }])
      const file = await admin.get(filtered, { headers: { accept: 'application/x-ndjson' } })
      expect(JSON.parse(String(file.body))).toMatchObject({ kind: 'token.created' })
    }
    for (const unknown of ['unknown@example.com', 'unknown', '@'])
      expect((await admin.get(`${path}?${name}=${encodeURIComponent(unknown)}`)).body.entries).toEqual([])
  }
})

it('runs the same number of statements for one entry and for fifty', async () => {
  await using app = await testApp({ alone: true })
  const admin = await app.admin()
  const people = await Promise.all(Array.from({ length: 12 }, () => app.member()))
  const statementsFor = (url: string) => app.countQueries(async () => expect((await admin.get(url)).status).toBe(200))
  await addEntries(app, 60, (n) => ({
    kind: 'user.updated',
    summary: 'x',
    actorId: people[n % 12]?.id ?? null,
    userId: people[(n + 5) % 12]?.id ?? null,
  }))
  await addEntries(app, 1, () => ({ kind: 'token.created', summary: 'x', actorId: people[0]?.id ?? null, userId: people[1]?.id ?? null }))
  await admin.get(path)
  const one = await statementsFor(`${path}?kind=token.created`)
  expect(await statementsFor(path)).toBe(one)
  expect(one).toBeLessThanOrEqual(5)
})
