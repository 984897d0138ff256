import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { requestConsent, authorizeUrl, codeFor, loginUrl, parametersOf, pkce, redirectUri } from '../support/oauth.ts'
import { foreignRedirects, loopbackRedirects } from '../support/redirects.ts'

const fault = (error: string) => ({
  status: 400,
  body: { error, error_description: expect.any(String) },
  headers: { 'cache-control': 'no-store' },
})

it('shows an error page without redirecting for redirect URIs other than loopback addresses', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (const uri of foreignRedirects) {
    for (const actor of [browser, app.anonymous]) {
      const { status, headers, body } = await actor.get(authorizeUrl({ redirect_uri: uri }), { ip: app.address() })
      expect({ uri, status, location: headers.location }).toEqual({ uri, status: 400, location: undefined })
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
        ),
      })
      expect(body).not.toMatch(/evil|script|alert/)
    }
  }
  expect(await app.services.database.reads.all('select id from oauth_requests')).toEqual([])
  for (const uri of loopbackRedirects) await requestConsent(browser, { redirect_uri: uri })
})

it.each([
  ['no client', '?redirect_uri=http://localhost:8000/'],
  ['another client', authorizeUrl({ client_id: 'CLI' }).slice(16)],
  ['no redirect_uri', authorizeUrl({ redirect_uri: null }).slice(16)],
  ['two redirect_uris', `${authorizeUrl().slice(16)}&redirect_uri=${encodeURIComponent(redirectUri)}`],
  ['two clients', `${authorizeUrl().slice(16)}&client_id=cli`],
  ['no parameters', ''],
])('shows an error page for %s', async (_name, query) => {
  await using app = await testApp()
  const answer = await (await (await app.member()).session()).get(`/oauth/authorize${query}`)
  expect(answer).toMatchObject({ status: 400, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(answer.headers.location).toBeUndefined()
})

it.each([
  ['unsupported_response_type', { response_type: 'token' }],
  ['invalid_request', { response_type: null }],
  ['invalid_request', { code_challenge: null }],
  ['invalid_request', { code_challenge: 'short' }],
  ['invalid_request', { code_challenge_method: 'plain' }],
  ['invalid_request', { code_challenge_method: null }],
  ['invalid_request', { code_challenge_method: 's256' }],
  ['invalid_scope', { scope: 'read,fly' }],
  ['invalid_scope', { scope: ', ' }],
])('redirects back with %s for %j', async (error, parameters) => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const { status, headers } = await browser.get(authorizeUrl(parameters))
  expect({ status, location: headers.location }).toEqual({
    status: 302,
    location: expect.stringMatching(/^http:\/\/127\.0\.0\.1:49152\/callback\?error=/),
  })
  expect(parametersOf(headers.location)).toEqual({
    error,
    error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
    state: 'a state',
  })
})

it.each([
  ['a NUL character', '\0'],
  ['beyond ASCII', 'ä'],
  ['multi-line', 'a\nb'],
  ['too long', 'x'.repeat(1001)],
])('never returns a state that is %s', async (_name, state) => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  expect(parametersOf((await browser.get(authorizeUrl({ state }))).headers.location)).toEqual({
    error: 'invalid_request',
    error_description: expect.any(String),
  })
})

it('refuses a wrong verifier and invalidates the code', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (const code_verifier of [pkce().verifier, 'short', `${'x'.repeat(42)}!`, 'x'.repeat(129), pkce().challenge]) {
    const given = await codeFor(browser)
    expect(await app.anonymous.post('/oauth/token', { ...given, code_verifier }, { ip: app.address() })).toMatchObject(
      fault('invalid_grant'),
    )
    expect(await app.anonymous.post('/oauth/token', given, { ip: app.address() })).toMatchObject(fault('invalid_grant'))
  }
  expect((await browser.get('/api/auth/keys')).body.keys.filter(({ name }: { name: string }) => name.startsWith('CLI'))).toEqual([])
})

it('refuses a verifier equal to the challenge, as with the method "plain"', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const { verifier } = pkce()
  const given = await codeFor(browser, { code_challenge: verifier })
  expect(await app.anonymous.post('/oauth/token', { ...given, code_verifier: verifier })).toMatchObject(fault('invalid_grant'))
})

it('refuses another redirect_uri than the code was issued for', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  for (const redirect_uri of [
    'http://127.0.0.1:49153/callback',
    'http://localhost:49152/callback',
    `${redirectUri}/`,
    'https://evil.example/',
  ]) {
    expect(await app.anonymous.post('/oauth/token', { ...(await codeFor(browser)), redirect_uri }, { ip: app.address() })).toMatchObject(
      fault('invalid_grant'),
    )
  }
})

it('refuses a code after 60 seconds', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const browser = await (await app.member()).session()
  const [one, other] = [await codeFor(browser), await codeFor(browser)]
  app.clock.now = new Date('2026-01-01T00:00:59.999Z')
  expect(await app.anonymous.post('/oauth/token', one)).toMatchObject({ status: 200 })
  app.clock.now = new Date('2026-01-01T00:01:00Z')
  expect(await app.anonymous.post('/oauth/token', other)).toMatchObject(fault('invalid_grant'))
})

it('revokes the token when its code is used again', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const given = await codeFor(await alice.session())
  const { body } = await app.anonymous.post('/oauth/token', given)
  const cli = app.withToken(body.access_token)
  expect(await cli.get('/api/auth/me')).toMatchObject({ status: 200 })
  for (const again of [given, { ...given, code_verifier: pkce().verifier }])
    expect(await app.anonymous.post('/oauth/token', again)).toMatchObject(fault('invalid_grant'))
  expect(await cli.get('/api/auth/me')).toMatchObject({ status: 401 })
  const told = await app.services.database.reads.all<{ user_id: string }>(
    "select user_id from audit_entries where kind = 'token.reuse_detected'",
  )
  expect(told).toEqual([{ user_id: alice.id }])
})

it('uses the role and state of the user when the code is exchanged', async () => {
  await using app = await testApp()
  const change = (id: string, columns: string) =>
    app.services.database.orm.em.getConnection().execute(`update users set ${columns} where id = ?`, [id])
  for (const [columns, scope] of [
    ["role = 'viewer'", 'read'],
    ["role = 'member'", 'read,write'],
  ] as const) {
    const admin = await app.admin()
    const given = await codeFor(await admin.session(), { scope: 'read,write,admin' })
    await change(admin.id, columns)
    expect(await app.anonymous.post('/oauth/token', given)).toMatchObject({ status: 200, body: { scope } })
  }
  for (const columns of ['is_active = false', 'must_change_password = true']) {
    const alice = await app.member()
    const given = await codeFor(await alice.session())
    await change(alice.id, columns)
    expect(await app.anonymous.post('/oauth/token', given)).toMatchObject(fault('invalid_grant'))
  }
})

it('refuses a code whose session has ended', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const given = await codeFor(browser)
  await browser.post('/api/auth/logout')
  expect(await app.anonymous.post('/oauth/token', given)).toMatchObject(fault('invalid_grant'))
})

it('reports invalid requests with the error codes of RFC 6749', async () => {
  await using app = await testApp()
  const given = { grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri, code_verifier: pkce().verifier }
  const post = (body: unknown, type = 'application/json') =>
    app.anonymous.post('/oauth/token', typeof body === 'string' ? body : JSON.stringify(body), {
      ip: app.address(),
      headers: { 'content-type': type },
    })
  for (const name of Object.keys(given)) expect(await post({ ...given, [name]: undefined })).toMatchObject(fault('invalid_request'))
  for (const body of ['{"a":', '[]', 'null', '"x"', { ...given, code: 5 }, { ...given, code: '' }])
    expect(await post(body)).toMatchObject(fault('invalid_request'))
  expect(await post({ ...given, grant_type: 'password' })).toMatchObject(fault('unsupported_grant_type'))
  expect(await post({ ...given, client_id: 'other' })).toMatchObject(fault('invalid_client'))
  expect(await post(given)).toMatchObject(fault('invalid_grant'))
  const twice = `${new URLSearchParams(given)}&code=y`
  expect(await post(twice, 'application/x-www-form-urlencoded')).toMatchObject(fault('invalid_request'))
  expect(await post('x', 'text/plain')).toMatchObject({ status: 415, body: { error: 'invalid_request' } })
  const compressed = { ip: app.address(), headers: { 'content-encoding': 'gzip' } }
  expect(await app.anonymous.post('/oauth/token', given, compressed)).toMatchObject({ status: 415, body: { error: 'invalid_request' } })
  expect(await post({ ...given, code: 'x'.repeat(70_000) })).toMatchObject({ status: 413, body: { error: 'invalid_request' } })
  expect(await app.anonymous.get('/oauth/token')).toMatchObject({
    status: 405,
    headers: { allow: 'POST' },
    body: { error: { code: 'InvalidInput' } },
  })
})

it('allows thirty of each request per address in 15 minutes', async () => {
  await using app = await testApp()
  for (let count = 0; count < 30; count++) {
    expect((await app.anonymous.get(authorizeUrl())).headers.location).toContain(loginUrl)
    expect(await app.anonymous.post('/oauth/token', {})).toMatchObject({ status: 400 })
  }
  expect(await app.anonymous.get(authorizeUrl())).toMatchObject({
    status: 429,
    body: { error: { code: 'RateLimitExceeded' } },
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  })
  expect(await app.anonymous.post('/oauth/token', {})).toMatchObject({
    status: 429,
    body: { error: 'temporarily_unavailable' },
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  })
  expect(await app.anonymous.post('/oauth/token', {}, { ip: app.address() })).toMatchObject({ status: 400 })
})
