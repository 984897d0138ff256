import { encodeGlobalID } from '@pothos/plugin-relay'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { sendBytes } from '../support/publish.ts'
import { invalidInput } from '../support/invalid-input.ts'

let app: TestApp
let owner: Actor
let alice: Actor
beforeAll(async () => {
  app = await testApp()
  owner = await app.owner()
  alice = await app.member()
})
afterAll(() => app[Symbol.asyncDispose]())

const unknownId = '00000000-0000-7000-8000-000000000000'
const errors = () => app.lines.filter((line) => line.includes(' ERROR '))

describe('ids', () => {
  const strange = [
    'x',
    '',
    'null',
    '\u{1f600}',
    btoa('PageInfo:x'),
    encodeGlobalID('Nothing', unknownId),
    encodeGlobalID('__proto__', unknownId),
  ]

  it.each(strange)('are refused by name when malformed (%j), wherever an id is accepted', async (id) => {
    const none = invalidInput(`id: ${JSON.stringify(id)} is not an id of this server.`, 'id')
    expect(await alice.graphql('query ($id: ID!) { node(id: $id) { id } }', { id })).toMatchObject(none)
    expect(await alice.graphql('mutation ($id: ID!) { revokeSession(input: { id: $id }) { session { id } } }', { id })).toMatchObject(none)
    expect(await owner.graphql('mutation ($id: ID!) { retryJob(input: { id: $id }) { job { id } } }', { id })).toMatchObject(none)
    expect(await alice.graphql('query ($id: ID!) { nodes(ids: [$id]) { id } }', { id })).toMatchObject(
      invalidInput(`ids: ${JSON.stringify(id)} is not an id of this server.`, 'ids'),
    )
    expect(errors()).toEqual([])
  })

  it('are refused when of another type, even if the object exists', async () => {
    const ask = (name: string, payload: string, id: string) =>
      owner.graphql(`mutation ($id: ID!) { ${name}(input: { id: $id }) ${payload} }`, { id })
    const user = encodeGlobalID('User', alice.id)
    const wrong = (type: string) => invalidInput(`id: must be the id of a ${type}, not of a User.`, 'id')
    expect(await ask('revokeSession', '{ session { id } }', user)).toMatchObject(wrong('Session'))
    expect(await ask('revokeUserSession', '{ session { id } }', user)).toMatchObject(wrong('Session'))
    expect(await ask('revokeToken', '{ token { id } }', user)).toMatchObject(wrong('AccessToken'))
    expect(await ask('revokeUserToken', '{ token { id } }', user)).toMatchObject(wrong('AccessToken'))
    expect(await ask('deletePublisher', '', user)).toMatchObject(wrong('Publisher'))
    expect(await ask('checkPublisherDomain', '{ publisher { slug } }', user)).toMatchObject(wrong('Publisher'))
    expect(await ask('deleteUser', '', encodeGlobalID('Session', alice.id))).toMatchObject({ status: 400 })
    expect(await ask('revokeSession', '{ session { id } }', encodeGlobalID('Session', unknownId))).toMatchObject({ status: 404 })
    expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  })
})

const json = { headers: { 'content-type': 'application/json' } }
const version = '{ server { version } }'

const malformed: [text: string, message: string][] = [
  ['null', 'must be a JSON object with `query`'],
  ['5', 'must be a JSON object with `query`'],
  ['[]', 'batches are not supported'],
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
    expect(await alice.post('/graphql', text, json)).toMatchObject(invalidInput(expect.stringContaining(message)))
    expect(errors()).toEqual([])
  },
)

it('refuses deeply nested JSON in REST before parsing it', async () => {
  for (const text of [`{"name":${'['.repeat(500_000)}`, `{"name":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`])
    expect(await alice.post('/api/auth/keys', text, json)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: 'The JSON is nested deeper than 64 levels.' } },
    })
  expect(await alice.post('/api/auth/keys', `{"name":"${'['.repeat(80)}"}`, json)).toMatchObject({ status: 201 })
})

it('answers in JSON, in events to clients that accept nothing else, and never in multipart', async () => {
  const accepting = (accept: string) => alice.graphql(version, {}, { headers: { accept } })
  for (const accept of ['multipart/mixed', 'image/png', 'text/html']) {
    const { status, body, headers } = await accepting(accept)
    expect({ accept, status, body }).toMatchObject({ accept, status: 406, body: { errors: [{ extensions: { code: 'InvalidInput' } }] } })
    expect(headers['transfer-encoding']).toBeUndefined()
  }
  for (const accept of [
    'multipart/mixed;deferSpec=20220824, application/json',
    'text/event-stream, */*',
    'application/graphql-response+json',
    'text/event-stream, application/json',
  ]) {
    const { status, body, headers } = await accepting(accept)
    expect({ accept, status, body }).toEqual({
      accept,
      status: 200,
      body: { data: { server: { version: expect.any(String) } }, extensions: { cost: 3 } },
    })
    expect(headers['transfer-encoding']).toBeUndefined()
  }
  const events = await accepting('text/event-stream')
  expect(events).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream', 'cache-control': 'private, no-store' } })
  expect(events.body).toMatch(
    /^event: next\ndata: \{"data":\{"server":\{"version":"[^"]+"\}\},"extensions":\{"cost":3\}\}\n\nevent: complete$/m,
  )
})

it('refuses invalid credentials, also where packages are public or a query needs none', async () => {
  const challenged = {
    status: 401,
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="pub", message="The token is invalid/) },
  }
  const past = app.withToken('svc_pat_nonsense')
  for (const path of ['/api/packages', '/api/packages/acme'])
    expect({ path, ...(await past.get(path)) }).toMatchObject({ path, ...challenged, body: { error: { code: 'MissingAuthentication' } } })
  for (const query of ['{ viewer { id } }', version])
    expect(await past.graphql(query)).toMatchObject({
      ...challenged,
      body: { errors: [{ extensions: { code: 'MissingAuthentication' } }] },
    })
})

it('ignores credentials where none are needed, as added by a proxy or an old token', async () => {
  for (const secret of ['svc_pat_nonsense', 'Basic cHJveHk6c2VjcmV0']) {
    const headers = { authorization: secret.startsWith('Basic') ? secret : `Bearer ${secret}` }
    const open = (method: 'GET' | 'POST', path: string, body?: object) =>
      app.anonymous.send(method, path, body, { headers, ip: app.address() })
    for (const path of ['/api/v1/health', '/api/v1/version', '/api/legal/privacy', '/api/setup/status'])
      expect({ path, status: (await open('GET', path)).status }).toEqual({ path, status: 200 })
    const login = { email: alice.email, password: 'correct horse' }
    expect(await open('POST', '/api/auth/login', login)).toMatchObject({ status: 200, body: { email: alice.email } })
    expect(await open('POST', '/api/tokens/revoke', { secret: 'svc_pat_nonsense' })).toMatchObject({ status: 200 })
    expect((await open('GET', '/api/invites/none')).status).toBe(404)
    expect((await open('GET', `/api/users/${alice.id}/avatar`)).status).toBe(404)
  }
})

it('sends the challenge and Retry-After in GraphQL as in REST', async () => {
  const bearer = (text: string) => ({
    headers: { 'www-authenticate': expect.stringMatching(new RegExp(`^Bearer realm="pub", message="${text}`)) },
  })
  expect(await app.anonymous.graphql('{ me { id } }')).toMatchObject({ status: 401, ...bearer('Authentication') })
  expect(await app.anonymous.graphql('{ health { status } me { id } }')).toMatchObject(bearer('Authentication'))
  expect(await alice.graphql('{ jobCounts { failed } }')).toMatchObject({ status: 403, ...bearer('This access token lacks') })
  const login = 'mutation { login(input: { email: "unknown@example.com", password: "wrong" }) { user { id } } }'
  const ip = app.address()
  const answers = [...Array(11).keys()].map(() => app.anonymous.graphql(login, {}, { ip }))
  expect((await Promise.all(answers)).filter(({ status }) => status === 429)).toMatchObject([
    { headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } },
  ])
})

it('answers package clients in their media type, including errors', async () => {
  const inTheirType = {
    headers: { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8' },
    body: { error: { code: expect.any(String), message: expect.any(String) } },
  }
  for (const path of ['nothing', 'nothing/versions/1.0.0', 'nothing/advisories', 'versions/newUploadFinish?upload_id=x'])
    expect({ path, ...(await alice.get(`/api/packages/${path}`)) }).toMatchObject({ path, ...inTheirType })
  expect(await sendBytes(alice, 'x', Buffer.from('an archive'))).toMatchObject({ status: 404, ...inTheirType })
})

it('answers unsupported methods with 405, also on pages, feeds and files', async () => {
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
  // WebDAV methods are treated alike.
  for (const path of ['/packages/x', '/api/packages/x'])
    expect(await alice.send('PROPFIND' as 'POST', path)).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
      body: { error: { code: 'InvalidInput' } },
    })
  expect(await alice.send('PROPFIND' as 'POST', '/api/nothing')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('refuses a change whose account is deleted concurrently, without an internal error', async () => {
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
