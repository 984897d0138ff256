import { expect, it } from 'vitest'
import { readDocuments } from '../../server/platform/graphql/trusted-documents.ts'
import { sha256 } from '../../server/platform/http/keys.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { startCollector } from '../support/collector.ts'
import { subscribeAt } from '../support/events.ts'
import { publish } from '../support/publish.ts'

const documents = readDocuments()
const session = hashOf('query Session')
const updateProfile = hashOf('mutation UpdateProfile')
const ownQuery = '{ viewer { email } }'
const field = 'extensions.persistedQuery.sha256Hash'

/** Returns the hash of the only operation that begins with this text. */
function hashOf(start: string): string {
  const [hash, ...more] = [...documents].flatMap(([key, text]) => (new RegExp(`^${start}\\b`).test(text) ? [key] : []))
  if (!hash || more.length > 0) throw new Error(`${start}: ${hash ? 'several' : 'none'}`)
  return hash
}

const named = (sha256Hash: unknown, version: unknown = 1) => ({ extensions: { persistedQuery: { version, sha256Hash } } })
const sendQuery = (actor: Actor, body: object, headers = {}) => actor.post('/graphql', body, { headers })
const refused = (status: number, code: string, about = {}) => ({ status, body: { errors: [{ extensions: { code, ...about } }] } })
const renameMutation = (displayName: string) => ({ ...named(updateProfile), variables: { input: { displayName } } })

it('are executed by hash with variables and cost, like their text', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  expect(await sendQuery(browser, { ...named(session), operationName: 'Session' })).toMatchObject({
    status: 200,
    body: { data: { viewer: { email: alice.email } } },
  })
  expect(await sendQuery(browser, renameMutation('Alice Anders'))).toMatchObject({ status: 200, body: { data: { updateProfile: {} } } })
  const hash = hashOf('query CompleteSearch')
  const variables = { query: 'a' }
  const [byHash, byText] = [
    await sendQuery(alice, { ...named(hash), variables }),
    await alice.graphql(documents.get(hash) ?? '', variables),
  ]
  expect(byHash.body.extensions.cost).toBeGreaterThan(10)
  expect([byHash.status, byHash.body]).toEqual([200, byText.body])
  expect(await sendQuery(alice, { ...named(hash), variables: { query: 7 } })).toMatchObject(
    refused(400, 'InvalidInput', { field: 'query' }),
  )
})

it('pass the same checks as any query: permissions, CSRF and rate limit', async () => {
  await using app = await testApp()
  const [alice, busy, viewer] = [await app.member(), await app.member(), await app.viewer()]
  const browser = await alice.session()
  expect(await sendQuery(app.anonymous, renameMutation('Stranger'))).toMatchObject(refused(401, 'MissingAuthentication'))
  expect(await sendQuery(viewer, named(hashOf('query Statistics')))).toMatchObject(refused(403, 'InsufficientPermissions'))
  expect(await sendQuery(browser, renameMutation('Mallory'), { 'x-csrf-token': '' })).toMatchObject(refused(403, 'CsrfMismatch'))
  expect((await browser.get('/api/auth/me')).body.displayName).toBe(alice.user.displayName)
  await Promise.all(Array.from({ length: 600 }, () => app.services.limits.use('graphql', busy.id)))
  expect(await sendQuery(busy, named(session))).toMatchObject(refused(429, 'RateLimitExceeded'))
})

it('are available by GET when they change nothing', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  const get = (body: ReturnType<typeof named> & { variables?: object }, headers = {}) =>
    browser.get(`/graphql?${new URLSearchParams(Object.entries(body).map(([name, value]) => [name, JSON.stringify(value)]))}`, { headers })
  // A request with a query is answered as GraphQL, whatever the Accept header.
  for (const accept of ['application/json', 'text/html,*/*;q=0.8'])
    expect(await get(named(session), { accept })).toMatchObject({ status: 200, body: { data: { viewer: { email: alice.email } } } })
  expect(await get(renameMutation('Mallory'))).toMatchObject(refused(405, 'InvalidInput'))
  expect((await browser.get('/api/auth/me')).body.displayName).toBe(alice.user.displayName)
  expect(await get(named('0'.repeat(64)))).toMatchObject(refused(400, 'InvalidInput', { field }))
})

it('are refused by a hash that is unknown, malformed or of another text', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const hash of [sha256(ownQuery), '0'.repeat(64)])
    expect(await sendQuery(alice, named(hash))).toMatchObject({
      status: 400,
      body: { errors: [{ message: 'PersistedQueryNotSupported', extensions: { code: 'InvalidInput', field } }] },
    })
  for (const hash of [
    session.toUpperCase(),
    session.slice(1),
    `${session}0`,
    `${session}\n`,
    '',
    7,
    null,
    undefined,
    [session],
    { session },
  ])
    expect([hash, await sendQuery(alice, named(hash))]).toMatchObject([hash, refused(400, 'InvalidInput', { field })])
  for (const version of [2, '1', null, ''])
    expect(await sendQuery(alice, named(session, version))).toMatchObject(
      refused(400, 'InvalidInput', { field: 'extensions.persistedQuery.version' }),
    )
  expect(await sendQuery(alice, { extensions: { persistedQuery: session } })).toMatchObject(refused(400, 'InvalidInput'))
  for (const query of [ownQuery, '', `${documents.get(session)} `])
    expect(await sendQuery(alice, { ...named(session), query })).toMatchObject(refused(400, 'InvalidInput', { field }))
  // A query with its matching hash is executed but not stored.
  expect(await sendQuery(alice, { ...named(sha256(ownQuery)), query: ownQuery })).toMatchObject({ status: 200 })
  expect(await sendQuery(alice, named(sha256(ownQuery)))).toMatchObject({ status: 400 })
  for (const extensions of [undefined, null, {}, { persistedQuery: null }, { other: 1 }])
    expect([extensions, await sendQuery(alice, { query: ownQuery, extensions })]).toMatchObject([extensions, { status: 200 }])
  expect(await sendQuery(alice, {})).toMatchObject(refused(400, 'InvalidInput', { field: 'query' }))
})

it('are the only operations for sessions and anonymous users where a setting requires it', async () => {
  await using app = await testApp({ env: { GRAPHQL_FREE_QUERIES: 'tokens' } })
  const alice = await app.member()
  const browser = await alice.session()
  const message = 'This server accepts custom queries only with an access token. Send one in the Authorization header.'
  for (const actor of [browser, app.anonymous])
    expect(await actor.graphql('{ server { version } }')).toMatchObject({
      status: 403,
      body: { errors: [{ message, extensions: { code: 'InsufficientPermissions' } }] },
    })
  expect(await alice.graphql(ownQuery)).toMatchObject({ status: 200, body: { data: { viewer: { email: alice.email } } } })
  const sent = { ...named(sha256(ownQuery)), query: ownQuery }
  expect(await sendQuery(alice, sent)).toMatchObject({ status: 200 })
  // A page of another release, which is fixed by a reload.
  expect(await sendQuery(browser, sent)).toMatchObject(refused(403, 'InsufficientPermissions', { field }))
  for (const query of [undefined, documents.get(session)]) {
    expect(await sendQuery(browser, { ...named(session), query })).toMatchObject({
      status: 200,
      body: { data: { viewer: { email: alice.email } } },
    })
    expect(await sendQuery(app.anonymous, { ...named(session), query })).toMatchObject({ status: 200, body: { data: { viewer: null } } })
  }
  expect(await sendQuery(browser, {})).toMatchObject(refused(400, 'InvalidInput', { field: 'query' }))
  const { body } = await sendQuery(browser, {
    ...named(hashOf('query Explorer')),
    variables: { signedIn: true, browsing: true },
  })
  expect(body.data.server).toMatchObject({ queriesNeedToken: true })
})

it('are available to subscriptions by hash', async () => {
  await using app = await testApp({ env: { GRAPHQL_FREE_QUERIES: 'tokens' } })
  const [alice, address] = [await app.member(), await app.listen()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const hash = hashOf('subscription VersionScoreChanged')
  const { cookies } = await alice.session()
  const first = async (credential: string | Record<string, string> | undefined, asked: string | object) => {
    const events = await subscribeAt(address, credential, asked, { name: 'acme', version: '1.0.0' })
    const event = await events.next()
    events.close()
    return [events.status, event.data?.versionScoreChanged.score.status ?? event.errors[0].extensions.code]
  }
  const text = documents.get(hash) ?? ''
  for (const credential of [cookies, alice.secret]) expect(await first(credential, named(hash))).toEqual([200, 'PENDING'])
  expect(await first(alice.secret, text)).toEqual([200, 'PENDING'])
  expect(await first(undefined, named(hash))).toEqual([401, 'MissingAuthentication'])
  for (const credential of [cookies, undefined]) expect(await first(credential, text)).toEqual([403, 'InsufficientPermissions'])
  expect(await first(alice.secret, named('0'.repeat(64)))).toEqual([400, 'InvalidInput'])
  expect(await sendQuery(alice, named(hash))).toMatchObject({ status: 406 })
})

it('keep their names in traces', async () => {
  const collector = await startCollector()
  await using app = await testApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' } })
  expect(await sendQuery(await app.member(), named(session))).toMatchObject({ status: 200 })
  await app.services.tracing?.close()
  const names = collector.spans().map(({ attributes }) => attributes['graphql.operation.name'])
  expect(names).toContain('Session')
})
