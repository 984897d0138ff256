import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
const secret = 'the client secret of the company'

/** Allows administrators to add the stub, which has a private address. */
const listed = ({ issuer }: StubIssuer) => ({ ...signUp, TOKEN_ISSUER_HOSTS: new URL(issuer).host })

const added = ({ issuer }: StubIssuer) => ({
  name: 'acme',
  label: 'Acme',
  issuer,
  clientId: 'snug',
  clientSecret: secret,
  groupsClaim: 'groups',
  trustsSecondFactor: true,
})

describe('a provider added by an administrator', () => {
  it('works at once, and its secret is never returned or stored in plain text', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: listed(stub) })
    app.secrets.add('client secret', secret)
    const admin = await app.admin()
    const created = await admin.post('/api/admin/oidc-providers', added(stub))
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      name: 'acme',
      hasClientSecret: true,
      isFromEnvironment: false,
      scopes: 'openid email profile',
      redirectUri: 'http://localhost:8080/auth/oidc/acme/callback',
      backchannelLogoutUri: 'http://localhost:8080/auth/oidc/acme/backchannel-logout',
    })
    expect(JSON.stringify(created.body)).not.toContain(secret)
    const browser = new Browser(app)
    const at = await browser.start()
    const elsewhere = new Browser(app, browser.cookies)
    expect(await elsewhere.finish(stub, at, alice)).toBe('/')
    expect(await new Browser(app, elsewhere.cookies).viewer()).toMatchObject({ email: 'alice@acme.example' })
    expect((await admin.patch('/api/admin/oidc-providers/acme', { label: 'Acme Corp', clientSecret: null })).body).toMatchObject({
      label: 'Acme Corp',
      hasClientSecret: false,
    })
    expect((await app.anonymous.get('/api/auth/providers')).body.oidcProviders).toMatchObject([{ label: 'Acme Corp' }])
    expect((await admin.delete('/api/admin/oidc-providers/acme')).status).toBe(200)
    expect((await app.anonymous.get('/api/auth/providers')).body.oidcProviders).toEqual([])
    expect((await admin.delete('/api/admin/oidc-providers/acme')).status).toBe(404)
  })

  it('gets another issuer only with a secret for it', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: listed(stub) })
    const admin = await app.admin()
    await admin.post('/api/admin/oidc-providers', added(stub))
    const change = (body: object) => admin.patch('/api/admin/oidc-providers/acme', body)
    const issuer = 'https://other.example'
    expect(await change({ issuer })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^clientSecret: /) } },
    })
    expect(await change({ issuer: stub.issuer, label: 'Acme Corp' })).toMatchObject({ status: 200, body: { hasClientSecret: true } })
    expect(await change({ issuer, clientSecret: 'another secret' })).toMatchObject({ status: 200, body: { issuer, hasClientSecret: true } })
    expect(await change({ issuer: stub.issuer, clientSecret: null })).toMatchObject({ status: 200, body: { hasClientSecret: false } })
    expect(await change({ issuer })).toMatchObject({ status: 200 })
  })

  it('is not described by errors that a browser sends', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: listed(stub) })
    const admin = await app.admin()
    await admin.post('/api/admin/oidc-providers', added(stub))
    const browser = new Browser(app)
    const at = await browser.start()
    const state = at.searchParams.get('state') ?? ''
    const sent = { error: 'server_error', error_description: 'Call this number', state, iss: stub.issuer }
    expect(await browser.callback(sent)).toBe('/login?error=provider_failed&provider=acme')
    const { body } = await admin.get('/api/admin/oidc-providers')
    expect(body.oidcProviders).toMatchObject([{ name: 'acme', lastError: null, lastErrorAt: null }])
  })

  it('keeps its secret when JWT_SECRET is rotated', async () => {
    await using stub = await StubIssuer.start()
    const before = 'a secret for tests that is long enough'
    await using app = await testApp({ env: listed(stub) })
    await (await app.admin()).post('/api/admin/oidc-providers', added(stub))
    await app.stop()
    await using rotated = await testApp({
      sameDatabaseAs: app,
      env: listed(stub),
      config: { JWT_SECRET: 'another secret for tests, long enough', JWT_SECRET_PREVIOUS: before, INSTANCES_MAY_DIFFER: true },
    })
    expect(await new Browser(rotated).signIn(stub, alice)).toBe('/')
    await rotated.stop()
    await using lost = await testApp({
      sameDatabaseAs: app,
      env: listed(stub),
      config: { JWT_SECRET: 'a third secret for tests, long enough', INSTANCES_MAY_DIFFER: true },
    })
    const answer = await new Browser(lost).get('/auth/oidc/acme')
    expect(String(answer.headers.location)).toContain('/login?error=provider_failed&provider=acme')
  })

  it('is refused with values that cannot work', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: providerEnv(stub) })
    const admin = await app.admin()
    const add = async (changes: object) =>
      (await admin.post('/api/admin/oidc-providers', { ...added(stub), name: 'new', ...changes })).status
    const invalid = [
      { name: 'A' },
      { name: 'a-b' },
      { name: 'x'.repeat(33) },
      { name: '' },
      { issuer: 'http://login.example.com' },
      { issuer: 'https://user:password@login.example.com' },
      { issuer: 'ftp://login.example.com' },
      { issuer: 'https://login.example.com/?x=1' },
      { issuer: 'text' },
      { scopes: 'email profile' },
      { clientId: '' },
      { label: 'x'.repeat(101) },
    ]
    expect(await Promise.all(invalid.map(add))).toEqual(invalid.map(() => 400))
    expect(await add({ name: 'acme' })).toBe(409)
    expect([await add({}), await add({})]).toEqual([201, 409])
    for (const change of [
      () => admin.patch('/api/admin/oidc-providers/acme', { label: 'x' }),
      () => admin.delete('/api/admin/oidc-providers/acme'),
    ])
      expect((await change()).status).toBe(409)
  })

  it('is listed with as many statements as others with it', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    const list = () => app.countQueries(() => admin.get('/api/admin/oidc-providers'))
    const add = (name: string) => admin.post('/api/admin/oidc-providers', { name, issuer: `https://${name}.example.com`, clientId: 'snug' })
    await add('one')
    await list()
    const alone = await list()
    for (const name of ['two', 'three', 'four']) expect((await add(name)).status).toBe(201)
    await list()
    expect(await list()).toBe(alone)
  })

  it('needs an administrator with a recent proof', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ now: new Date() })
    expect((await (await app.member()).post('/api/admin/oidc-providers', added(stub))).status).toBe(403)
    expect((await app.anonymous.get('/api/admin/oidc-providers')).status).toBe(401)
    const browser = await signedIn(app, 'admin')
    app.clock.now = new Date(Date.now() + 11 * 60_000)
    expect((await browser.post('/api/admin/oidc-providers', added(stub))).status).toBe(403)
  })
})

describe('the test of a provider', () => {
  const query = (test: string) =>
    `{ oidcTestResult(test: "${test}") { claims groups hasTooManyGroups role memberships { publisher role } } }`

  it('shows the claims and what they would give, to its administrator only, and changes nothing', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: { ...providerEnv(stub), ...signUp } })
    const browser = await signedIn(app, 'admin')
    await browser.actor.put('/api/admin/oidc-providers/acme/group-rules', { rules: [{ group: 'ops', role: 'admin', publisher: 'tools' }] })
    const checked = await browser.mutate('testOidcProvider', { name: 'acme' }, 'isUsable findings redirectUrl')
    expect(checked).toMatchObject({ isUsable: true, findings: [] })
    const end = await browser.finish(stub, new URL(checked.redirectUrl), { ...alice, groups: ['ops', 'x'] })
    expect(end).toMatch(/^\/admin\/sign-in\?test=[\w-]{43}&provider=acme$/)
    const test = new URL(end, 'http://x').searchParams.get('test') ?? ''
    const result = (await browser.actor.graphql(query(test))).body.data.oidcTestResult
    expect(JSON.parse(result.claims)).toMatchObject({ sub: 'alice-1', email: 'alice@acme.example' })
    expect(result).toMatchObject({
      groups: ['ops', 'x'],
      hasTooManyGroups: false,
      role: 'ADMIN',
      memberships: [{ publisher: 'tools', role: 'MEMBER' }],
    })
    const stranger = await signedIn(app, 'admin')
    expect((await stranger.actor.graphql(query(test))).body.data.oidcTestResult).toBeNull()
    expect((await browser.actor.graphql('{ viewer { linkedIdentities { subject } } }')).body.data.viewer.linkedIdentities).toEqual([])
    const users = await browser.actor.graphql('{ users(first: 10, query: "alice") { totalCount } }')
    expect(users.body.data.users.totalCount).toBe(0)
  })

  it.each<[string, (stub: StubIssuer) => void, RegExp]>([
    ['answers with an error', (stub) => (stub.behaviour.status = 503), /cannot be used/],
    ['has another issuer', (stub) => (stub.behaviour.metadata = { issuer: 'https://evil.example' }), /cannot be used/],
    ['has no token endpoint', (stub) => (stub.behaviour.metadata = { token_endpoint: undefined }), /no token_endpoint/],
    ['has no authorization endpoint', (stub) => (stub.behaviour.metadata = { authorization_endpoint: undefined }), /no authorization_end/],
    [
      'has a script',
      (stub) => (stub.behaviour.metadata = { authorization_endpoint: 'javascript:alert(1)' }),
      /authorization_endpoint that/,
    ],
    ['has a file', (stub) => (stub.behaviour.metadata = { token_endpoint: 'file:///etc/passwd' }), /token_endpoint that is not a URL/],
    ['has a number', (stub) => (stub.behaviour.metadata = { token_endpoint: 5 }), /token_endpoint that is not a URL/],
    ['has no keys', (stub) => (stub.keys = []), /publishes no keys/],
  ])('reports that the provider %s', async (_what, change, message) => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: providerEnv(stub) })
    change(stub)
    const answer = await (await app.admin()).post('/api/admin/oidc-providers/acme/test')
    expect(answer.body).toMatchObject({ isUsable: false, findings: [expect.stringMatching(message)] })
  })

  it.each([
    { end_session_endpoint: 'javascript:alert(1)' },
    { end_session_endpoint: 5 },
    { scopes_supported: 5 },
    { claims_supported: 'x' },
    { token_endpoint_auth_methods_supported: 5 },
  ])('ignores %j of a provider', async (metadata) => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: { ...providerEnv(stub), ...signUp } })
    stub.behaviour.metadata = metadata
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/')
    const { logout } = (await browser.actor.graphql('mutation { logout { endSessionUrl } }')).body.data
    expect(String(logout.endSessionUrl)).not.toContain('javascript')
    const answer = await (await app.admin()).post('/api/admin/oidc-providers/acme/test')
    expect(answer.body).toMatchObject({ isUsable: true })
  })
})

describe('a provider that does not answer', () => {
  const stateOf = async (app: TestApp) => (await (await app.admin()).get('/api/admin/oidc-providers')).body.oidcProviders[0]

  it('is named on the sign-in page, while local sign-in works and sessions go on', async () => {
    const stub = await StubIssuer.start()
    await using app = await testApp({ env: { ...providerEnv(stub), ...signUp } })
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    expect((await stateOf(app)).lastSuccessAt).not.toBeNull()
    const at = await new Browser(app).start()
    await stub[Symbol.asyncDispose]()
    const answer = await new Browser(app).get('/auth/oidc/acme')
    expect(String(answer.headers.location)).toBe('http://localhost:8080/login?error=provider_unreachable&provider=acme')
    expect(String(at)).toContain(stub.issuer)
    expect((await stateOf(app)).lastError).toContain('ECONNREFUSED')
    expect(await browser.viewer()).not.toBeNull()
    const local = await signedIn(app)
    expect(await local.viewer()).not.toBeNull()
    const error = await local.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(error).toMatchObject({
      message: expect.stringContaining('acme cannot be used at the moment'),
      extensions: { code: 'ServiceUnavailable' },
    })
  })

  it('never answers longer than the limit of a response', async () => {
    await using stub = await StubIssuer.start()
    await using app = await testApp({ env: providerEnv(stub) })
    stub.behaviour.metadata = { filler: 'x'.repeat(2_000_000) }
    const answer = await new Browser(app).get('/auth/oidc/acme')
    expect(String(answer.headers.location)).toContain('error=provider_unreachable')
  })
})
