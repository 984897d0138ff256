import { createServer } from 'node:http'
import * as oauth from 'oauth4webapi'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { requestConsent, authorizeUrl, codeFor, loginUrl, parametersOf, redirectUri } from '../support/oauth.ts'

const form = (fields: object) =>
  [new URLSearchParams({ ...fields }).toString(), { headers: { 'content-type': 'application/x-www-form-urlencoded' } }] as const

it('issues a token to a standard OAuth client through the complete flow', async () => {
  await using app = await testApp()
  const url = await app.listen()
  const alice = await app.member()
  const browser = await alice.session()
  const server = { issuer: url, authorization_endpoint: `${url}/oauth/authorize`, token_endpoint: `${url}/oauth/token` }
  const client = { client_id: 'cli' }
  await using listener = await listen()
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
  const requestId = await requestConsent(browser, {
    redirect_uri: listener.uri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  })
  const approved = await browser.post('/oauth/approve', { request_id: requestId })
  expect(approved).toMatchObject({
    status: 200,
    body: { redirect_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\?code=[\w-]{43}&state=[\w-]+$/) },
  })
  await fetch(approved.body.redirect_url)
  const parameters = oauth.validateAuthResponse(server, client, await listener.arrival, state)
  const response = await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), parameters, listener.uri, verifier, {
    [oauth.allowInsecureRequests]: true,
  })
  expect(response.headers.get('cache-control')).toBe('no-store')
  const result = await oauth.processAuthorizationCodeResponse(server, client, response)
  expect(result).toMatchObject({ token_type: 'bearer', scope: 'read,write', email: alice.email })
  expect(await app.withToken(result.access_token).get('/api/auth/me')).toMatchObject({ status: 200, body: { userId: alice.id } })
})

it('serves OAuth server metadata', async () => {
  await using app = await testApp({ setUp: false })
  const { SERVER_URL: url } = app.config
  const { status, body, headers } = await app.anonymous.get('/.well-known/oauth-authorization-server')
  const metadata = await oauth.processDiscoveryResponse(new URL(url), Response.json(body, { status }))
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(metadata).toMatchObject({
    authorization_endpoint: `${url}/oauth/authorize`,
    token_endpoint: `${url}/oauth/token`,
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['read', 'write', 'admin'],
  })
  for (const path of ['/.well-known/openid-configuration', '/.well-known/'])
    expect(await app.anonymous.get(path, { headers: { accept: 'text/html' } })).toMatchObject({
      status: 404,
      body: { error: { code: 'NotFound' } },
    })
})

it('issues a token named after the date that expires after 90 days', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T12:00:00Z') })
  const alice = await app.member()
  const given = await codeFor(await alice.session())
  const answer = await app.anonymous.post('/oauth/token', ...form(given))
  expect(answer).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } })
  expect(answer.body).toEqual({
    access_token: expect.stringMatching(/^svc_pat_/),
    token_type: 'Bearer',
    scope: 'read,write',
    email: alice.email,
  })
  const { body } = await alice.get('/api/auth/keys')
  expect(body.keys[0]).toMatchObject({ name: 'CLI, 2026-01-01', scopes: ['read', 'write'], expiresAt: '2026-04-01T12:00:00.000Z' })
  const kinds = (await app.services.database.reads.all<{ kind: string }>('select kind from audit_entries order by id')).map(
    ({ kind }) => kind,
  )
  expect(kinds.slice(-2)).toEqual(['oauth.approved', 'token.created'])
  const stored = JSON.stringify(await app.services.database.reads.all('select * from oauth_requests'))
  for (const secret of [given.code, given.code_verifier, answer.body.access_token]) expect(stored).not.toContain(secret)
})

it.each([
  ['member', 'admin', 'read,write'],
  ['viewer', 'write', 'read'],
] as const)('grants a %s who requests %s the scopes that the role allows', async (role, scope, granted) => {
  await using app = await testApp()
  const browser = await (await app.person(role)).session()
  const answer = await app.anonymous.post('/oauth/token', await codeFor(browser, { scope }))
  expect(answer).toMatchObject({ status: 200, body: { scope: granted } })
})

it('accepts JSON and space-separated scopes', async () => {
  await using app = await testApp()
  const browser = await (await app.admin()).session()
  expect(await app.anonymous.post('/oauth/token', await codeFor(browser, { scope: 'Admin READ' }))).toMatchObject({
    status: 200,
    body: { scope: 'read,admin' },
  })
  expect(await app.anonymous.post('/oauth/token', await codeFor(browser, { scope: null, state: null }))).toMatchObject({
    status: 200,
    body: { scope: 'read,write' },
  })
})

it('shows the request only to the session that started it', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [alice, bob] = [await app.viewer(), await app.owner()]
  const browser = await alice.session()
  const id = await requestConsent(browser)
  expect((await browser.get(`/oauth/pending/${id}`)).body).toEqual({
    request_id: id,
    client_id: 'cli',
    redirect_uri: redirectUri,
    scope: 'read',
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:10:00.000Z',
  })
  for (const other of [await alice.session(), await bob.session()]) {
    expect(await other.get(`/oauth/pending/${id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    for (const answer of ['approve', 'deny'])
      expect(await other.post(`/oauth/${answer}`, { request_id: id })).toMatchObject({ status: 404 })
  }
  expect(await alice.get(`/oauth/pending/${id}`)).toMatchObject({
    status: 403,
    body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('session') } },
  })
  expect(await alice.post('/oauth/approve', { request_id: id })).toMatchObject({ status: 403 })
  expect(await app.anonymous.get(`/oauth/pending/${id}`)).toMatchObject({ status: 401 })
  expect(await browser.post('/oauth/approve', { request_id: id }, { headers: { 'x-csrf-token': '' } })).toMatchObject({
    status: 403,
    body: { error: { code: 'CsrfMismatch' } },
  })
  for (const wrong of ['x', '..%2f', '00000000-0000-7000-8000-000000000000'])
    expect(await browser.get(`/oauth/pending/${wrong}`)).toMatchObject({ status: 404 })
  expect(await browser.post('/oauth/approve', {})).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: 'request_id: is required.' } },
  })
  app.clock.now = new Date('2026-01-01T00:10:00Z')
  expect(await browser.get(`/oauth/pending/${id}`)).toMatchObject({ status: 404 })
  expect(await browser.post('/oauth/approve', { request_id: id })).toMatchObject({ status: 404 })
})

it('shows the request in GraphQL', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const requestId = await requestConsent(browser)
  const query =
    'query ($requestId: ID!) { pendingAuthorization(requestId: $requestId) { requestId clientId redirectUri scopes createdAt expiresAt } }'
  expect((await browser.graphql(query, { requestId })).body.data.pendingAuthorization).toMatchObject({
    requestId,
    clientId: 'cli',
    redirectUri,
    scopes: ['READ', 'WRITE'],
  })
  const answer = (name: string) =>
    browser.graphql(`mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { redirectUrl } }`, {
      input: { requestId },
    })
  expect((await answer('approveAuthorization')).body.data.approveAuthorization.redirectUrl).toContain('?code=')
  expect((await answer('approveAuthorization')).body.errors[0].extensions.code).toBe('NotFound')
  expect((await answer('denyAuthorization')).body.errors[0].extensions.code).toBe('NotFound')
})

it('redirects to the client with access_denied when the user denies', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const id = await requestConsent(browser, { redirect_uri: 'http://[::1]:8123/cb?x=1', state: 'a&b=c d' })
  const { body } = await browser.post('/oauth/deny', { request_id: id })
  expect(body.redirect_url).toMatch(/^http:\/\/\[::1\]:8123\/cb\?x=1&error=access_denied&/)
  expect(parametersOf(body.redirect_url)).toMatchObject({ x: '1', error: 'access_denied', state: 'a&b=c d' })
  expect(await browser.post('/oauth/approve', { request_id: id })).toMatchObject({ status: 404 })
})

it('redirects signed-out users to the sign-in page and back to the request', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const due = await (await app.member({ mustChangePassword: true })).session()
  const url = authorizeUrl({ state: 'x y&z' })
  for (const actor of [app.anonymous, alice, due]) {
    expect(await actor.get(url)).toMatchObject({
      status: 302,
      headers: { location: `${loginUrl}${encodeURIComponent(url)}`, 'cache-control': 'no-store' },
    })
  }
  expect(await app.services.database.reads.all('select id from oauth_requests')).toEqual([])
  const behindProxy = await app.anonymous.get(url, { ip: '127.0.0.1', headers: { 'x-forwarded-proto': 'https' } })
  expect(behindProxy.headers.location).toMatch(/^https:\/\/localhost:8080\/login\?redirect=%2Foauth%2Fauthorize%3F/)
})

it('prevents sessions with a password change due from viewing, approving and denying', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  const id = await requestConsent(browser)
  await app.services.database.orm.em.getConnection().execute('update users set must_change_password = true where id = ?', [alice.id])
  expect(await browser.get(`/oauth/pending/${id}`)).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('password') } },
  })
  for (const answer of ['approve', 'deny'])
    expect(await browser.post(`/oauth/${answer}`, { request_id: id })).toMatchObject({ status: 403 })
})

it('works below a path prefix', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://example.com/pub' } })
  const answer = await app.anonymous.get(`/pub${authorizeUrl()}`)
  expect(answer.headers.location).toMatch(/^https:\/\/example\.com\/pub\/login\?redirect=%2Foauth%2Fauthorize%3F/)
})

/** Starts the local listener of a command-line client that waits for the redirect. */
async function listen() {
  const { promise: arrival, resolve } = Promise.withResolvers<URL>()
  const http = createServer((request, response) => {
    resolve(new URL(request.url ?? '', 'http://127.0.0.1'))
    response.end('You may close this page.')
  })
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening))
  const address = http.address()
  const uri = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
  return { uri, arrival, [Symbol.asyncDispose]: async () => void http.close() }
}

it('answers OAuth metadata at the inserted path below a prefix', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://pub.example.com/tools/pub' } })
  for (const path of ['/.well-known/oauth-authorization-server/tools/pub', '/tools/pub/.well-known/oauth-authorization-server'])
    expect(await app.anonymous.get(path)).toMatchObject({ status: 200, body: { issuer: 'https://pub.example.com/tools/pub' } })
  expect((await app.anonymous.get('/.well-known/oauth-authorization-server/other')).status).toBe(404)
})
