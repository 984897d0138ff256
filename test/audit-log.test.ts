import { expect, it } from 'vitest'
import { AuditEntry } from '../server/audit/entity.ts'
import { cell } from '../server/audit/csv.ts'
import { type TestApp, testApp } from './app.ts'

const path = '/api/admin/audit-log'

/** So many entries, a second apart; the last is the newest. */
async function fill(
  app: TestApp,
  count: number,
  entry: (
    n: number,
  ) => { kind: string; summary: string } & Partial<
    Pick<AuditEntry, 'actorId' | 'userId' | 'package' | 'version' | 'clientIp' | 'createdAt'>
  >,
) {
  const em = app.services.database.fork()
  for (let n = 0; n < count; n++) em.create(AuditEntry, { clientIp: null, ...entry(n) })
  await em.flush()
}

type Entry = { summary: string }

it('shows what happened, newest first, in the exact shape', async () => {
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

it('is for administrators only, on every door and in every form', async () => {
  await using app = await testApp()
  const [admin, member, viewer] = [await app.admin(), await app.member(), await app.viewer()]
  const narrow = await app.withScopes(admin, ['read', 'write'])
  const csv = { headers: { accept: 'text/csv' } }
  await fill(app, 1, () => ({ kind: 'user.login', summary: 'x' }))
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

it('pages by fifty without a gap or a repetition, while more happens', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await fill(app, 120, (n) => ({ kind: 'user.login', summary: String(n) }))
  const first = await admin.get(path)
  expect(first.body.entries).toHaveLength(50)
  await fill(app, 3, () => ({ kind: 'user.login', summary: 'newer' }))
  const second = await admin.get(`${path}?before=${first.body.nextBefore}`)
  const third = await admin.get(`${path}?before=${second.body.nextBefore}`)
  expect(third.body).toMatchObject({ nextBefore: null })
  const seen = [first, second, third].flatMap(({ body }) => body.entries as Entry[])
  expect(seen.map(({ summary }) => summary)).toEqual(Array.from({ length: 120 }, (_, n) => String(119 - n)))
})

it('filters alike in JSON, as CSV and in GraphQL', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member({ email: 'Alice@Example.com' })]
  const at = (minute: number) => ({ createdAt: new Date(Date.UTC(2026, 0, 1, 12, minute)) })
  const entries = [
    { kind: 'user.login', summary: 'a', actorId: alice.id, userId: alice.id, ...at(0) },
    { kind: 'user.login_failed', summary: 'b', userId: alice.id, ...at(1) },
    { kind: 'package.version_published', summary: 'c', actorId: alice.id, package: 'ui', version: '1.0.0', ...at(2) },
    { kind: 'package.created', summary: 'd', actorId: admin.id, package: 'icons', ...at(3) },
  ]
  await fill(app, 4, (n) => entries[n] ?? { kind: 'user.login', summary: 'never' })
  const cases: [Record<string, string>, string][] = [
    [{}, 'dcba'],
    [{ kind: 'user.' }, 'ba'],
    [{ kind: 'user.login' }, 'a'],
    [{ kind: 'user.log' }, ''],
    [{ actor: 'alice@example.COM' }, 'ca'],
    [{ actor: alice.id }, 'ca'],
    [{ actor: 'nobody@example.com' }, ''],
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
  'refuses %s in either form',
  async (query) => {
    await using app = await testApp()
    const admin = await app.admin()
    const refused = { status: 400, body: { error: { code: 'InvalidInput' } } }
    expect(await admin.get(`${path}?${query}`)).toMatchObject(refused)
    expect(await admin.get(`${path}?${query}`, { headers: { accept: 'text/csv' } })).toMatchObject(refused)
  },
)

it('refuses a cursor that is not its own', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const { body } = await admin.graphql('query ($after: String) { auditEntries(first: 1, after: $after) { nodes { id } } }', {
    after: Buffer.from('key:x').toString('base64url'),
  })
  expect(body.errors[0].extensions.code).toBe('InvalidInput')
})

it('remembers who is gone, and says so', async () => {
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
  await app.anonymous.post('/api/auth/login', { email: 'nobody@example.com', password: 'wrong password' })
  expect((await admin.get(`${path}?kind=user.login_failed`)).body.entries).toMatchObject([{ agent: null, user: null }])
})

it('costs the same number of statements for one entry and for fifty', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const people = await Promise.all(Array.from({ length: 12 }, () => app.member()))
  const statementsFor = async (url: string) => {
    app.queries.length = 0
    expect((await admin.get(url)).status).toBe(200)
    return app.queries.length
  }
  await fill(app, 60, (n) => ({
    kind: 'user.updated',
    summary: 'x',
    actorId: people[n % 12]?.id ?? null,
    userId: people[(n + 5) % 12]?.id ?? null,
  }))
  await fill(app, 1, () => ({ kind: 'token.created', summary: 'x', actorId: people[0]?.id ?? null, userId: people[1]?.id ?? null }))
  await admin.get(path)
  const one = await statementsFor(`${path}?kind=token.created`)
  expect(await statementsFor(path)).toBe(one)
  expect(one).toBeLessThanOrEqual(5)
})

it('exports a file that a spreadsheet opens and cannot be tricked by', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const mallory = await app.member({ displayName: '=HYPERLINK("http://evil.example","Größe")' })
  await fill(app, 1, () => ({
    kind: 'user.updated',
    summary: 'said "hi", then\nleft',
    actorId: mallory.id,
    package: 'ui',
    version: '1.0.0',
    clientIp: '10.1.2.3',
  }))
  const { status, headers, body } = await admin.get(path, { headers: { accept: 'text/csv' } })
  expect(status).toBe(200)
  expect(headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'accept' })
  expect(headers['content-disposition']).toMatch(/^attachment; filename="audit-log-\d{4}-\d\d-\d\d\.csv"$/)
  const [head, ...rows] = String(body).split('\r\n')
  expect(head).toBe('id,createdAt,kind,summary,actorId,actorName,actorEmail,userId,userName,userEmail,package,version,clientIp,publisher')
  expect(rows.join('\r\n')).toMatch(
    new RegExp(
      `,user.updated,"said ""hi"", then\nleft",${mallory.id},"'=HYPERLINK\\(""http://evil.example"",""Größe""\\)",${mallory.email},,,,ui,1.0.0,10.1.2.3,\r\n$`,
    ),
  )
})

it.each([
  ['plain', 'plain'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(1)', "'@SUM(1)"],
  ['\tx', "'\tx"],
  ['\rx', '"\'\rx"'],
  [' =1', "' =1"],
  ['\uff1d1', "'\uff1d1"],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['a-b', 'a-b'],
])('writes the cell %j as %j', (text, written) => {
  expect(cell(text)).toBe(written)
})

it('gives JSON unless CSV is wanted more, and the whole log when it is', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await fill(app, 1234, (n) => ({ kind: 'user.login', summary: String(n) }))
  const typeFor = async (accept: string) => String((await admin.get(path, { headers: { accept } })).headers['content-type']).split(';')[0]
  for (const accept of [
    '*/*',
    'application/json',
    'text/csv;q=0.5, application/json',
    'text/csv;q=0',
    'text/html',
    'text/csv;q=0.2, application/*;q=0.3',
  ])
    expect(await typeFor(accept), accept).toBe('application/json')
  for (const accept of ['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv, application/json;q=0.9', 'text/csv, */*'])
    expect(await typeFor(accept), accept).toBe('text/csv')
  const { body } = await admin.get(path, { headers: { accept: 'text/csv' } })
  expect(
    String(body)
      .split('\r\n')
      .slice(1, -1)
      .map((row) => row.split(',')[3]),
  ).toEqual(Array.from({ length: 1234 }, (_, n) => String(1233 - n)))
  const head = await admin.head(path, { headers: { accept: 'text/csv' } })
  expect([head.status, head.headers['content-type'], head.raw.length]).toEqual([200, 'text/csv; charset=utf-8; header=present', 0])
})
