import { encodeGlobalID } from '@pothos/plugin-relay'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from './actor.ts'
import { testApp, type TestApp } from './app.ts'

let app: TestApp
let owner: Actor
let alice: Actor
beforeAll(async () => {
  app = await testApp()
  owner = await app.owner()
  alice = await app.member()
})
afterAll(() => app[Symbol.asyncDispose]())

const nobody = '00000000-0000-7000-8000-000000000000'
const refused = (message: unknown, field?: string) => ({
  status: 400,
  body: { errors: [{ message, extensions: { code: 'InvalidInput', ...(field && { field }) } }] },
})
const errors = () => app.lines.filter((line) => line.includes(' ERROR '))

describe('an id', () => {
  const strange = ['x', '', 'null', '\u{1f600}', btoa('PageInfo:x'), encodeGlobalID('Nothing', nobody), encodeGlobalID('__proto__', nobody)]

  it.each(strange)('that is none (%j) is refused by name, wherever one is taken', async (id) => {
    const none = refused(`id: ${JSON.stringify(id)} is not an id of this server.`, 'id')
    expect(await alice.graphql('query ($id: ID!) { node(id: $id) { id } }', { id })).toMatchObject(none)
    expect(await alice.graphql('mutation ($id: ID!) { revokeSession(input: { id: $id }) { session { id } } }', { id })).toMatchObject(none)
    expect(await owner.graphql('mutation ($id: ID!) { retryJob(input: { id: $id }) { job { id } } }', { id })).toMatchObject(none)
    expect(await alice.graphql('query ($id: ID!) { nodes(ids: [$id]) { id } }', { id })).toMatchObject(
      refused(`ids: ${JSON.stringify(id)} is not an id of this server.`, 'ids'),
    )
    expect(errors()).toEqual([])
  })

  it('of another type is refused, also when the object is there', async () => {
    const ask = (name: string, payload: string, id: string) =>
      owner.graphql(`mutation ($id: ID!) { ${name}(input: { id: $id }) ${payload} }`, { id })
    const user = encodeGlobalID('User', alice.id)
    const wrong = (type: string) => refused(expect.stringMatching(`^id: ".*" is the id of a User. Send the id of a ${type}.$`), 'id')
    expect(await ask('revokeSession', '{ session { id } }', user)).toMatchObject(wrong('Session'))
    expect(await ask('revokeUserSession', '{ session { id } }', user)).toMatchObject(wrong('Session'))
    expect(await ask('revokeToken', '{ token { id } }', user)).toMatchObject(wrong('AccessToken'))
    expect(await ask('revokeUserToken', '{ token { id } }', user)).toMatchObject(wrong('AccessToken'))
    expect(await ask('deletePublisher', '', user)).toMatchObject(wrong('Publisher'))
    expect(await ask('checkPublisherDomain', '{ publisher { slug } }', user)).toMatchObject(wrong('Publisher'))
    expect(await ask('deleteUser', '', encodeGlobalID('Session', alice.id))).toMatchObject({ status: 400 })
    expect(await ask('revokeSession', '{ session { id } }', encodeGlobalID('Session', nobody))).toMatchObject({ status: 404 })
    expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  })
})

const json = { headers: { 'content-type': 'application/json' } }
const version = '{ server { version } }'

const malformed: [text: string, message: string][] = [
  ['null', 'null'],
  ['5', 'number'],
  ['[]', 'Batching'],
  ['{"query":null}', 'query: must be a string'],
  ['{"query":5}', 'query: must be a string'],
  ['{}', 'query: is required'],
  [`{"query":"${version}","variables":5}`, 'variables'],
  [`{"query":"${version}","variables":[]}`, 'variables'],
  [JSON.stringify({ query: `{ node(id: ${'['.repeat(2000)}${']'.repeat(2000)}) { id } }` }), 'nested deeper than'],
  [JSON.stringify({ query: `query ($a: ${'['.repeat(2000)}ID${']'.repeat(2000)}) { server { version } }` }), 'nested deeper than'],
  [JSON.stringify({ query: `${'{ a '.repeat(2000)}${'}'.repeat(2000)}` }), 'nested deeper than'],
  ['['.repeat(500_000), 'nested deeper than'],
  [`{"query":"${version}","variables":{"a":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}`, 'nested deeper than'],
  ['"\\', ''],
]

it.each(malformed.map(([text, message]) => [text.slice(0, 60), message, text]))(
  'refuses the GraphQL request %s',
  async (_start, message, text) => {
    expect(await alice.post('/graphql', text, json)).toMatchObject(refused(expect.stringContaining(message)))
    expect(errors()).toEqual([])
  },
)

it('refuses JSON that is nested too deep on REST, before it walks through it', async () => {
  for (const text of [`{"name":${'['.repeat(500_000)}`, `{"name":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`])
    expect(await alice.post('/api/auth/keys', text, json)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: 'The JSON is nested deeper than 64 levels.' } },
    })
  expect(await alice.post('/api/auth/keys', `{"name":"${'['.repeat(80)}"}`, json)).toMatchObject({ status: 201 })
})

it('answers JSON or not at all: neither parts nor events', async () => {
  const accepting = (accept: string) => alice.graphql(version, {}, { headers: { accept } })
  for (const accept of ['multipart/mixed', 'text/event-stream', 'image/png', 'text/html']) {
    const { status, body, headers } = await accepting(accept)
    expect({ accept, status, body }).toMatchObject({ accept, status: 406, body: { errors: [{ extensions: { code: 'InvalidInput' } }] } })
    expect(headers['transfer-encoding']).toBeUndefined()
  }
  for (const accept of [
    'multipart/mixed;deferSpec=20220824, application/json',
    'text/event-stream, */*',
    'application/graphql-response+json',
  ]) {
    const { status, body, headers } = await accepting(accept)
    expect({ accept, status, body }).toEqual({ accept, status: 200, body: { data: { server: { version: expect.any(String) } } } })
    expect(headers['transfer-encoding']).toBeUndefined()
  }
})

it('refuses moments that not every calendar has', async () => {
  for (const from of ['+275760-09-13T00:00:00.000Z', '-000001-01-01T00:00:00Z', '0000-01-01', '1', '2026-13-01', '10000-01-01']) {
    const message = expect.stringMatching(/^from: must be a moment such as .*, not "/)
    expect(await owner.get(`/api/admin/audit-log?from=${encodeURIComponent(from)}`)).toMatchObject({
      status: 400,
      body: { error: { message } },
    })
    expect(await owner.graphql('query ($from: DateTime) { auditEntries(first: 1, from: $from) { totalCount } }', { from })).toMatchObject(
      refused(message, 'from'),
    )
  }
})

it('refuses moments on days that the calendar does not have', async () => {
  const query = 'query ($from: DateTime) { auditEntries(first: 1, from: $from) { totalCount } }'
  for (const from of ['2026-02-30', '2026-02-29T12:00:00Z', '2026-04-31T00:00:00+02:00', '2100-02-29']) {
    const message = `from: must be on a day that the calendar has, not "${from}"`
    expect(await owner.get(`/api/admin/audit-log?from=${encodeURIComponent(from)}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringContaining(message) } },
    })
    const answer = refused(expect.stringContaining(message), 'from')
    expect(await owner.graphql(query, { from })).toMatchObject(answer)
    expect(await owner.graphql(`{ auditEntries(first: 1, from: "${from}") { totalCount } }`)).toMatchObject(answer)
  }
  for (const from of ['2024-02-29', '2000-02-29T12:00:00Z', '2026-12-31T23:59:59-14:00'])
    expect(await owner.graphql(query, { from })).toMatchObject({ status: 200, body: { data: { auditEntries: {} } } })
})

it('names the field and quotes what was sent, unless it is a secret', async () => {
  const create = (fields: object) => owner.post('/api/admin/users', { email: 'a@example.com', displayName: 'A', ...fields })
  const saying = (message: string) => ({ status: 400, body: { error: { code: 'InvalidInput', message } } })
  expect(await create({ role: 'Admin' })).toMatchObject(saying('role: must be one of admin, editor, member, viewer, not "Admin".'))
  expect(await create({ role: 5 })).toMatchObject(saying('role: must be one of admin, editor, member, viewer, not 5.'))
  expect(await create({ expiresInHours: 'many' })).toMatchObject(saying('expiresInHours: must be a whole number, not "many".'))
  expect(await create({ expiresInHours: 2 ** 40 })).toMatchObject(saying('expiresInHours: must be a whole number, not 1099511627776.'))
  expect(await alice.post('/api/auth/keys', { name: 'x', scopes: 'read' })).toMatchObject(saying('scopes: must be a list, not "read".'))
  const session = await alice.session()
  expect(await session.post('/oauth/approve', { request_id: 5 })).toMatchObject(saying('request_id: must be a string, not 5.'))
  const login = await app.anonymous.post('/api/auth/login', { email: 'a@example.com', password: 12_345_678 })
  expect(login).toMatchObject(saying('password: must be a string.'))
  const input = { email: 'a@example.com', displayName: 'A', role: 'Admin' }
  expect(await owner.graphql('mutation ($input: CreateUserInput!) { createUser(input: $input) { mode } }', { input })).toMatchObject(
    refused('role: must be a value of AssignableRole, not "Admin".', 'role'),
  )
})

const literals: [query: string, message: string, field: string][] = [
  ['{ packages(first: "a") { totalCount } }', 'first: must be a whole number, not "a".', 'first'],
  ['{ packages(first: 99999999999) { totalCount } }', 'first: must be a whole number, not 99999999999.', 'first'],
  ['{ server { version @include(if: "yes") } }', 'if: must be true or false, not "yes".', 'if'],
  ['{ nodes(ids: ["x", true]) { id } }', 'ids[1]: must be a string, not true.', 'ids[1]'],
  ['{ package(name: null) { name } }', 'name: is required.', 'name'],
  ['{ package { name } }', 'name: is required.', 'name'],
  ['query ($first: Int = "a") { packages(first: $first) { totalCount } }', 'first: must be a whole number, not "a".', 'first'],
  ['{ auditEntries(first: 1, from: "soon") { totalCount } }', 'from: must be a moment such as 2026-01-31T12:00:00Z, not "soon"', 'from'],
  [
    'mutation { createUser(input: { email: "a@example.com", displayName: "A", role: Admin }) { mode } }',
    'role: must be a value of AssignableRole, not "Admin".',
    'role',
  ],
  [
    'mutation { createUser(input: { email: "a@example.com", displayName: "A", role: "ADMIN" }) { mode } }',
    'role: must be a value of AssignableRole, written without quotes, not "ADMIN".',
    'role',
  ],
  ['mutation { createUser(input: { email: "a@example.com", role: VIEWER }) { mode } }', 'displayName: is required.', 'displayName'],
  [
    'mutation { login(input: { email: "a@example.com", password: "secret", pasword: "secret" }) { user { id } } }',
    'pasword: is not a known field. Did you mean "password"?',
    'pasword',
  ],
  ['mutation { login(input: { email: "a@example.com", password: 12345678 }) { user { id } } }', 'password: must be a string.', 'password'],
  ['mutation { createUser(input: 5) { mode } }', 'input: Expected value of type "CreateUserInput" to be an object.', 'input'],
]

it.each(literals)('names the argument of what is written out in a query and does not fit: %s', async (query, message, field) => {
  expect(await owner.graphql(query)).toMatchObject(refused(message, field))
  // Once more, from the cache of what was validated before.
  expect(await owner.graphql(query)).toMatchObject(refused(message, field))
  expect(errors()).toEqual([])
})

it('tells whoever sends a credential that does not work, also where nobody needs one', async () => {
  const challenged = {
    status: 401,
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="pub", message="The token is invalid/) },
  }
  const past = app.withToken('svc_pat_nonsense')
  for (const path of ['/api/legal/privacy', '/api/setup/status', '/api/v1/version'])
    expect({ path, ...(await past.get(path)) }).toMatchObject({ path, ...challenged, body: { error: { code: 'MissingAuthentication' } } })
  for (const query of ['{ viewer { id } }', version])
    expect(await past.graphql(query)).toMatchObject({
      ...challenged,
      body: { errors: [{ extensions: { code: 'MissingAuthentication' } }] },
    })
  expect(await past.get('/api/v1/health')).toMatchObject({ status: 200 })
})

it('carries the challenge and the seconds to wait on GraphQL as on REST', async () => {
  const bearer = (text: string) => ({
    headers: { 'www-authenticate': expect.stringMatching(new RegExp(`^Bearer realm="pub", message="${text}`)) },
  })
  expect(await app.anonymous.graphql('{ me { id } }')).toMatchObject({ status: 401, ...bearer('Authentication') })
  expect(await app.anonymous.graphql('{ health { status } me { id } }')).toMatchObject(bearer('Authentication'))
  expect(await alice.graphql('{ jobCounts { failed } }')).toMatchObject({ status: 403, ...bearer('This access token lacks') })
  const login = 'mutation { login(input: { email: "nobody@example.com", password: "wrong" }) { user { id } } }'
  const ip = app.address()
  const answers = [...Array(11).keys()].map(() => app.anonymous.graphql(login, {}, { ip }))
  expect((await Promise.all(answers)).filter(({ status }) => status === 429)).toMatchObject([
    { headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } },
  ])
})

it('answers package clients in their own media type, errors too', async () => {
  for (const path of ['nothing', 'nothing/versions/1.0.0', 'nothing/advisories', 'versions/newUploadFinish?upload_id=x'])
    expect({ path, ...(await alice.get(`/api/packages/${path}`)) }).toMatchObject({
      path,
      headers: { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8' },
      body: { error: { code: expect.any(String), message: expect.any(String) } },
    })
})

it('answers methods that a path does not have with 405, pages, feeds and files too', async () => {
  for (const path of [
    '/',
    '/packages/x',
    '/robots.txt',
    '/favicon.svg',
    '/feed.atom',
    '/oauth/consent',
    '/oauth/authorize',
    '/api/archives/a-1.0.0.tar.gz',
  ])
    for (const method of ['POST', 'DELETE', 'OPTIONS', 'TRACE'] as const)
      expect({ path, method, ...(await alice.send(method as 'POST', path)) }).toMatchObject({
        path,
        method,
        status: 405,
        headers: { allow: 'GET, HEAD' },
        body: { error: { code: 'InvalidInput' } },
      })
  expect(await alice.post('/api/nothing')).toMatchObject({ status: 404 })
  expect(await alice.send('PROPFIND' as 'POST', '/packages/x')).toMatchObject({ status: 501, body: { error: { code: 'InvalidInput' } } })
})

it('answers a change whose account is deleted meanwhile with a refusal, not with a failure', async () => {
  const rounds = Array.from({ length: 50 }, async (_, round) => {
    const gone = await app.member()
    const [answers] = await Promise.all([
      Promise.all([
        gone.post('/api/auth/keys', { name: `late ${round}` }),
        app.anonymous.post('/api/auth/login', { email: gone.email, password: 'correct horse' }, { ip: gone.ip }),
        gone.get('/api/packages/versions/new'),
      ]),
      owner.delete(`/api/admin/users/${gone.id}`),
    ])
    return answers.map(({ status }) => status)
  })
  expect((await Promise.all(rounds)).flat().filter((status) => status >= 500)).toEqual([])
  expect(errors()).toEqual([])
})
